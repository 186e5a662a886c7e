"""Gradients of NPU-only operators against finite differences, in float64 where torch_npu lets it through."""

from __future__ import annotations

from running import Run

from program_files import program_text


def test_gradients_are_those_of_finite_differences(run: Run) -> None:
    run(program_text(__file__, "gradients_of_npu_operators"))
