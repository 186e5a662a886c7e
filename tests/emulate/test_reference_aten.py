"""aten operators that devices have and the CPU backend has not."""

from __future__ import annotations

from running import Run

from program_files import program_text


def test_operators_without_a_cpu_kernel(run: Run) -> None:
    program = program_text(__file__, "operators_without_a_cpu_kernel")
    run(program)
