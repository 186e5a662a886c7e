"""The parts of a sketch that need no torch: its signs, its width, and how it is made narrower."""

from __future__ import annotations

from typing import Any

import numpy as np

WIDTH = 256


def signs(count: int, salt: int) -> Any:
    """+1 or -1 for each of 0 … count-1, from a 32-bit integer hash."""
    value = np.arange(count, dtype=np.uint32) + np.uint32((salt * 0x9E3779B9) & 0xFFFFFFFF)
    value ^= value >> np.uint32(16)
    value *= np.uint32(0x7FEB352D)
    value ^= value >> np.uint32(15)
    value *= np.uint32(0x846CA68B)
    value ^= value >> np.uint32(16)
    return 1 - 2 * (value & np.uint32(1)).astype(np.float32)


def fold(rows: np.ndarray[Any, Any], width: int) -> np.ndarray[Any, Any]:
    """The same sketches with fewer buckets: bucket j gets all that are j modulo the new width."""
    count, have = rows.shape
    if have <= width:
        return rows
    with np.errstate(over="ignore", invalid="ignore"):  # a mask is the lowest value of its dtype, many times
        summed: np.ndarray[Any, Any] = rows.reshape(count, have // width, width).sum(1)
    return summed
