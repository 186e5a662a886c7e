"""Quantisation, products of quantised matrices, and updates of caches of keys and values."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..formulas.quantize import INT8, by_rows, to_steps
from .registry import NotEmulated, operator

_ROUNDED = {"round": np.rint, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc}


@operator("aclnnAscendQuant")
def quantize(x: Any, scale: Any, offset: Any, root: int, how: str, type_: int) -> Any:
    """`root`: the scale comes as its square root."""
    if type_ != 2:
        raise NotEmulated(f"quantisation to data type {type_} is not emulated")
    factor = scale * scale if root else scale
    wide = x * factor + (0 if offset is None else offset)
    return np.clip(_ROUNDED[how.lower()](wide), *INT8)


@operator("aclnnDynamicQuant")
def quantize_rows(x: Any, smooth: Any) -> Any:
    """A scale for each row, so that its largest value is 127."""
    wide = x if smooth is None or not smooth.size else x * smooth
    steps, scale = by_rows(wide)
    return to_steps(steps), scale[..., 0]


def unpacked(packed: Any) -> Any:
    """Scales of the device's output unit: float32 in the low half of 64 bits, the last 13 bits of it not used."""
    if packed.dtype.kind not in "iu":
        return packed
    return (packed.astype(np.uint64) & np.uint64(0xFFFFE000)).astype(np.uint32).view(np.float32)


@operator("aclnnTransQuantParamV2")
def pack_scale(scale: Any, offset: Any) -> Any:
    """The other way: the scale below, an offset of nine bits above it."""
    low = np.ascontiguousarray(scale, np.float32).view(np.uint32).astype(np.uint64) & np.uint64(0xFFFFE000)
    low = low | np.uint64(1 << 46)
    if offset is None or not offset.size:
        return low
    high = (np.clip(np.rint(offset), -256, 255).astype(np.int64) & 0x1FF).astype(np.uint64)
    return low | (high << np.uint64(37))


@operator("aclnnQuantMatmulV4")
def multiply(x: Any, y: Any, scale: Any, offset: Any, token_scale: Any, bias: Any, turn_x: int, turn_y: int) -> Any:
    left = np.swapaxes(x, -1, -2) if turn_x else x
    right = np.swapaxes(y, -1, -2) if turn_y else y
    out = left.astype(np.float64) @ right.astype(np.float64)
    whole = bias is not None and bias.dtype.kind in "iu"
    out = (out + bias if whole else out) * unpacked(scale)
    if token_scale is not None and token_scale.size:
        out = out * token_scale[..., None]
    if bias is not None and not whole:
        out = out + bias
    return to_steps(out + offset) if offset is not None and offset.size else out


@operator("aclnnWeightQuantBatchMatmulV2", stepwise=True)
def multiply_by_quantized(
    x: Any, weight: Any, scale: Any, shift: Any, out_scale: Any, out_shift: Any, bias: Any, group: int
) -> Any:
    """The weight is (value + shift) · scale in the type of `x`; each row of both serves `group` rows of it."""
    factors = [None if one is None or not one.size else unpacked(one) for one in (scale, shift)]
    if group > 0:
        rows = weight.shape[-2]
        factors = [None if one is None else np.repeat(one, group, -2)[..., :rows, :] for one in factors]
    plain = weight.astype(x.dtype)
    plain = (plain if factors[1] is None else plain + factors[1]) * factors[0]
    out = x.astype(np.float32) @ plain.astype(np.float32)
    if bias is not None and bias.size:
        out = out + bias
    if out_scale is None or not out_scale.size:
        return out
    return to_steps(out * unpacked(out_scale) + (0 if out_shift is None else out_shift))


@operator("aclnnInplaceScatterUpdate")
def update_cache(cache: Any, places: Any, values: Any, axis: int) -> Any:
    """For each row of the first axis: the values from its place on, along the axis; or a pair of row and place."""
    out = np.array(cache)
    at = axis % cache.ndim
    for row in range(len(places)):
        target, start = (row, int(places[row])) if places.ndim == 1 else (int(places[row][0]), int(places[row][1]))
        piece = [target] + [slice(0, size) for size in values.shape[1:]]
        piece[at] = slice(start, start + values.shape[at])
        out[tuple(piece)] = values[row]
    return out


@operator("AscendQuant")
def quantize_by_type(
    x: Any, *, scale: float, offset: float = 0.0, sqrt_mode: bool = False, round_mode: str = "Round", outputs: Any
) -> Any:
    return quantize(x, scale, offset, sqrt_mode, round_mode or "Round", outputs[0].type)
