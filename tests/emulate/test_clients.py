"""Libraries from the package index train on the emulated card as they do on the CPU."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from running import Run

from program_files import program_text

_ACCELERATE = program_text(__file__, "accelerate_trains")
_TRAINER = program_text(__file__, "transformers_trainer")
_PEFT = program_text(__file__, "peft_adapter")


def _need(*packages: str) -> None:
    for package in packages:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed: pip install {package}")


def test_accelerate_trains(run: Run) -> None:
    _need("accelerate")
    assert run(_ACCELERATE).stdout == "npu npu:0\n"


def test_trainer_of_transformers_gives_the_losses_of_the_cpu(run: Run, tmp_path: Path) -> None:
    _need("accelerate", "transformers")
    done = run(_TRAINER, OUT=str(tmp_path))
    assert done.stdout.splitlines()[-1] == "npu True 2"


def test_peft_trains_an_adapter(run: Run) -> None:
    _need("accelerate", "transformers", "peft")
    assert run(_PEFT).stdout == "npu:0 3\n"
