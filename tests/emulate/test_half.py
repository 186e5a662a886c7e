"""float16 as the chip computes it: sums in float32, rounded once; also where the CPU has no such kernel."""

from __future__ import annotations

from running import Run

from program_files import program_text


def test_half_is_rounded_once(run: Run) -> None:
    program = program_text(__file__, "half_rounding")
    run(program)


def test_softmax_of_half_may_answer_in_float32(run: Run) -> None:
    program = program_text(__file__, "half_softmax")
    run(program)
