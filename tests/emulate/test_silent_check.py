"""torch_npu's search for silent errors (NPU_ASD_ENABLE): its own hooks and operators, on the stand-ins' kernels."""

from __future__ import annotations

from running import Run

from program_files import program_text

_TRAINING = program_text(__file__, "silent_check")


def test_a_gradient_that_is_no_number_stops_the_training(run: Run) -> None:
    done = run(_TRAINING, NPU_ASD_ENABLE="2")
    assert done.stdout == "steps done\nTrue\n[0, 0, 0, 2, 1] 5\n"
    assert "silent check: fault (L1), value " in done.stderr
