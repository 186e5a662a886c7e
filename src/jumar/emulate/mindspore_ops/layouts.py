"""Numbers of axes from one layout to another, by type."""

from __future__ import annotations

from typing import Any

import numpy as np

from .registry import operator

_SPACE = "HW"


def _formats(attributes: Any) -> tuple[str, str]:
    return attributes.get("src_format") or "NHWC", attributes.get("dst_format") or "NCHW"


@operator("DataFormatDimMap")
def axes(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """Which axis of the second layout each axis of the first one is; behind the last comes the first."""
    before, after = _formats(attributes)
    return np.array([after.index(letter) for letter in before])[inputs[0] % len(before)]


@operator("DataFormatVecPermute")
def values(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """A value, or a pair, for each axis; two values are for those of the space only."""
    before, after = _formats(attributes)
    if len(inputs[0]) == len(_SPACE):
        before, after = ("".join(letter for letter in one if letter in _SPACE) for one in (before, after))
    return inputs[0][[before.index(letter) for letter in after]]
