"""The gradients of padding volumes by reflection and by their edges."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from .registry import operator


def _backward(how: str, grad: Any, x: Any, sizes: Any) -> Any:
    """Pads the places instead of the values: what came from the same place is added up."""
    edges = [(0, 0)] * (x.ndim - 3) + [(sizes[2 * at], sizes[2 * at + 1]) for at in (2, 1, 0)]
    places = np.pad(np.arange(x.size).reshape(x.shape), edges, mode=how)
    sums = np.bincount(places.reshape(-1), grad.reshape(-1).astype(np.float64), x.size)
    return sums.reshape(x.shape)


operator("aclnnReflectionPad3dBackward")(functools.partial(_backward, "reflect"))
operator("aclnnReplicationPad3dBackward")(functools.partial(_backward, "edge"))
