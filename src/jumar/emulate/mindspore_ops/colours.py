"""Colours of images: hue and saturation."""

from __future__ import annotations

from typing import Any

import numpy as np

from .registry import operator


def to_hsv(x: Any) -> Any:
    """Hue from 0 to 1, saturation and value of red, green and blue along the last axis."""
    red, green, blue = np.moveaxis(x, -1, 0)
    value = x.max(-1)
    spread = value - x.min(-1)
    part = np.where(spread == 0, 1, spread)
    hue = np.where(
        value == red, (green - blue) / part, np.where(value == green, 2 + (blue - red) / part, 4 + (red - green) / part)
    )
    hue = np.where(spread == 0, 0, hue / 6 % 1)
    return np.stack([hue, np.where(value > 0, spread / np.where(value == 0, 1, value), 0), value], -1)


def from_hsv(x: Any) -> Any:
    hue, saturation, value = np.moveaxis(x, -1, 0)
    parts = [np.clip(np.abs(hue * 6 % 6 - 3) - 1, 0, 1), np.clip(2 - np.abs(hue * 6 % 6 - 2), 0, 1),
             np.clip(2 - np.abs(hue * 6 % 6 - 4), 0, 1)]  # fmt: skip
    return np.stack([((1 - saturation) + saturation * part) * value for part in parts], -1)


@operator("RGBToHSV")
def hsv(x: Any) -> Any:
    return to_hsv(x)


@operator("AdjustHue")
def turn(x: Any, delta: Any) -> Any:
    found = to_hsv(x)
    found[..., 0] = (found[..., 0] + float(np.reshape(delta, -1)[0])) % 1
    return from_hsv(found)


@operator("AdjustSaturation")
def saturate(x: Any, factor: Any) -> Any:
    found = to_hsv(x)
    found[..., 1] = np.clip(found[..., 1] * float(np.reshape(factor, -1)[0]), 0, 1)
    return from_hsv(found)
