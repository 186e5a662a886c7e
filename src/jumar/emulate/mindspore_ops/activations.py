"""Activations inside of operators that do more, by name; each operator has numbers of its own for them."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "fastgelu": lambda x: x / (1 + np.exp(-1.702 * x)),
    "gelu": lambda x: x / (1 + np.exp(-1.5957691216 * (x + 0.044715 * x**3))),
    "relu": lambda x: np.maximum(x, 0),
    "silu": lambda x: x / (1 + np.exp(-x)),
}
