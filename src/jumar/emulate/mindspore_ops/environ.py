"""Values that a network of higher gradients keeps by key (kernels of MindSpore's own, by type).

Each environment is a number; setting a key changes it in place, as MindSpore's kernel on the device's processor does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .registry import operator

_KEPT: dict[int, dict[int, Any]] = {}


def _number(value: Any) -> int:
    return int(np.reshape(value, -1)[0])


@operator("EnvironCreate")
def create(outputs: Any) -> Any:
    handle = max(_KEPT, default=0) + 1
    _KEPT[handle] = {}
    return np.full(outputs[0].shape, handle)


@operator("EnvironSet")
def keep(handle: Any, key: Any, value: Any, outputs: Any) -> Any:
    _KEPT[_number(handle)][_number(key)] = np.array(value)
    return np.full(outputs[0].shape, _number(handle))


@operator("EnvironGet")
def look_up(handle: Any, key: Any, missing: Any, outputs: Any) -> Any:
    """The third input stands for a key that was never set."""
    found = _KEPT[_number(handle)].get(_number(key), missing)
    return np.reshape(found, outputs[0].shape)


@operator("EnvironDestroyAll")
def forget(outputs: Any) -> Any:
    _KEPT.clear()
    return np.ones(outputs[0].shape)
