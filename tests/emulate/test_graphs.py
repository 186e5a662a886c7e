"""NPU graphs: capturing does not compute, a replay does, on the memory that was captured."""

from __future__ import annotations

from pathlib import Path

from running import Run

from program_files import program_text


def test_a_graph_computes_when_it_is_replayed(run: Run) -> None:
    program = program_text(__file__, "graph_replay")
    assert run(program).stdout == "True\n" * 3


def test_attention_in_a_graph_takes_new_lengths(run: Run) -> None:
    program = program_text(__file__, "graph_attention")
    run(program)


def test_a_graph_is_drawn_as_the_vendor_draws_it(run: Run, tmp_path: Path) -> None:
    run(program_text(__file__, "graph_picture"), FOLDER=str(tmp_path))
