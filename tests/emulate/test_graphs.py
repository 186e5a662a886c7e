"""NPU graphs: capturing does not compute, a replay does, on the memory that was captured."""

from __future__ import annotations

from running import Run

from program_files import program_text


def test_a_graph_computes_when_it_is_replayed(run: Run) -> None:
    program = program_text(__file__, "graph_replay")
    assert run(program).stdout == "True\n" * 3


def test_attention_in_a_graph_takes_new_lengths(run: Run) -> None:
    program = program_text(__file__, "graph_attention")
    run(program)
