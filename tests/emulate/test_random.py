"""Random numbers of an emulated card: reproducible, per card, and apart from the CPU's generator."""

from __future__ import annotations

from running import Run

from program_files import program_text


def test_every_kind_of_draw_follows_the_seed(run: Run) -> None:
    run(program_text(__file__, "draws"))


def test_cards_have_generators_of_their_own(run: Run) -> None:
    program = program_text(__file__, "generators_of_cards")
    assert run(program).stdout == "6\nExpected a 'npu' device type for generator but found 'cpu'\n"


def test_threads_leave_the_generator_of_the_cpu_alone(run: Run) -> None:
    program = program_text(__file__, "generators_and_threads")
    run(program)
