"""What the packs call a trap is one: each claim is run on the emulator with the real torch_npu.

A claim that no longer holds with a newer torch_npu fails here; its row and page then have to go.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAMS = Path(__file__).parent / "programs" / "traps"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("torch_npu") is None, reason="torch_npu is not installed"),
]


def run(name: str) -> dict[str, Any]:
    """What a program prints last, as JSON, on one emulated card."""
    command = [sys.executable, "-m", "jumar", "run", "--cards", "1", str(PROGRAMS / f"{name}.py")]
    done = subprocess.run(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True,
                          check=False, timeout=280)  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def test_fused_optimizers_do_not_see_gradients_that_others_clear() -> None:
    """PK111 and PK112."""
    found = run("fused_optimizers")
    assert found["cleared by the optimizer"] and not found["cleared by the model"]
    assert not found["data replaced"]
    assert found["unfrozen, plain"] and not found["unfrozen, fused"]
    assert "unexpected keyword argument 'grad_scaler'" in found["scaler of torch.npu.amp"]
    assert found["scaler of torch.amp"] == ""


def test_fusion_attention_has_another_scale_mask_and_dropout() -> None:
    """PK110."""
    found = run("fusion_attention")
    assert not found["without scale"] and found["with scale"]
    assert not found["same mask"] and found["inverted mask"]
    assert found["keep_prob 1"] and found["keep_prob 0.1 drops"]


@pytest.mark.skipif(importlib.util.find_spec("transformers") is None, reason="transformers is not installed")
def test_trainer_needs_the_plain_optimizer() -> None:
    """PK120, PK121 and what PT205 writes."""
    found = run("trainer_optimizers")
    assert found["adamw_torch"] == found["adamw_torch_fused"] != found["adamw_torch_npu_fused"]
    assert "unexpected keyword argument 'grad_scaler'" in found["fp16"]
    assert isinstance(found["fp16, adamw_torch"], list)
