"""The recorded program's side of `jumar compare record`: reads what to do from the variable and begins."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import torch

from jumar.compare.session import Session


def begin(told: str) -> None:
    wish: dict[str, Any] = json.loads(told)
    if wish.get("seed") is not None:
        _seed(int(wish["seed"]))
    Session(
        Path(wish["folder"]),
        wish["steps"],
        noise_unit=wish.get("noise", 0.0),
        seed=wish.get("noise_seed", 0),
        rounded=wish.get("rounded", ""),
        keep=tuple(wish.get("tensors", ())),
        lazy=True,
        stop=wish.get("stop"),
        watch=wish.get("watch", False),
        began=wish.get("began"),
        card=tuple(wish.get("card", ())),
    ).begin()


def _seed(seed: int) -> None:
    import numpy as np

    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(True, warn_only=True)
