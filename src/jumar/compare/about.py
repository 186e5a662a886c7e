"""What a record says about the process it came from: rank, device, versions, settings."""

from __future__ import annotations

import os
import platform
import sys
from typing import Any

import numpy as np
import torch

from jumar import __version__
from jumar.compare import card, native, precision, store
from jumar.compare.recorder import Recorder


def meta(recorder: Recorder, altered: str) -> dict[str, Any]:
    npu = sys.modules.get("torch_npu")
    return {
        "format": store.FORMAT,
        "jumar": __version__,
        "rank": rank(),
        "world": _world(),
        "device": _device(recorder.log.devices),
        "emulated": "npu" in recorder.log.devices and native.is_emulated(),
        "dtype": " ".join(sorted(recorder.log.dtypes & set(precision.UNIT))),
        "altered": altered,
        "products": card.of_process(npu) if "npu" in recorder.log.devices else {},
        "recorder": recorder.made_by,
        "cut": recorder.cut,
        "command": sys.argv,
        "torch": torch.__version__,
        "torch_npu": getattr(npu, "__version__", ""),
        "numpy": np.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "threads": torch.get_num_threads(),
        "default_dtype": str(torch.get_default_dtype())[6:],
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "seed": torch.initial_seed(),
    }


def rank() -> int:
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_rank())
    return _told("RANK", 0)


def _world() -> int:
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_world_size())
    return _told("WORLD_SIZE", 1)


def _told(variable: str, default: int) -> int:
    value = os.environ.get(variable, "")
    return int(value) if value.isdecimal() else default


def _device(seen: set[str]) -> str:
    others = sorted(seen - {"cpu"})
    return others[0] if others else "cpu"
