"""A tensor of one process in another: the same memory, as torch.multiprocessing passes it on."""

from __future__ import annotations

from running import Run

from program_files import program_text


def test_a_tensor_is_shared_between_processes(run: Run) -> None:
    program = program_text(__file__, "tensor_between_processes")
    run(program)
