"""Faults that are put into numbers on purpose: `GenerateEodMaskV2`, with which MindSpore tries its silent checks."""

from __future__ import annotations

from typing import Any

import numpy as np

from .memory import BFLOAT16, bfloat16, from_bfloat16
from .registry import operator

# Numbers of MindSpore's enums ErrorMode and FlipMode.
_CYCLE, _SPECIFIC = 0, 1
_BITFLIP, _DESIGNED, _MULTIPLY, _MULTIPLY_MAX = range(4)
_EXPONENT = {np.dtype(np.float16): 5}  # bits; 8 for the others
_NAMES = ("start", "steps", "error_mode", "flip_mode", "multiply_factor", "bit_pos", "flip_probability")


@operator("GenerateEodMaskV2")
def inject(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """A copy of the first input; at the steps that are asked for some of its elements are changed."""
    raw = np.array(inputs.place(0).raw())
    step, seed, offset = (int(np.reshape(inputs[at], -1)[0]) for at in (2, 3, 4))
    given = {name: inputs.get(5 + at) for at, name in enumerate(_NAMES)}
    options = {name: attributes.get(name, 0) if one is None else one for name, one in given.items()}
    if _is_due(step, options):
        flat = raw.reshape(-1)
        chosen = _chosen(flat.size, np.reshape(inputs[1], -1), seed + offset, _number(options["flip_probability"]))
        _change(flat, chosen, inputs.place(0).type == BFLOAT16, options)
    outputs[0].raw()[...] = raw
    return None


def _number(one: Any) -> float:
    return float(np.reshape(one, -1)[0]) if np.size(one) else 0.0


def _is_due(step: int, options: Any) -> bool:
    """Every so many steps after the start, or at some of them."""
    passed = step - int(_number(options["start"]))
    steps = [int(one) for one in np.reshape(options["steps"], -1)]
    if passed < 0:
        return False
    if int(_number(options["error_mode"])) == _CYCLE:
        return passed > 0 and passed % steps[0] == 0
    return passed in steps


def _chosen(count: int, places: Any, seed: int, probability: float) -> Any:
    """The places that are given, or those that are drawn."""
    if probability <= 0:
        return places.astype(np.int64)
    words = np.random.RandomState(seed % 2**32)._bit_generator.random_raw(count)
    drawn = np.asarray(words).astype(np.float32) / np.float32(2**32)
    return np.flatnonzero(np.minimum(drawn, np.nextafter(np.float32(1), np.float32(0))) <= np.float32(probability))


def _change(flat: Any, chosen: Any, brain: bool, options: Any) -> None:
    mode, factor = int(_number(options["flip_mode"])), np.float32(_number(options["multiply_factor"]))
    if mode == _MULTIPLY_MAX:
        sizes = np.abs(_values(flat, brain))
        chosen = np.flatnonzero(sizes == sizes.max())
        if chosen[0] == 0:  # the device takes the first element twice when it is the largest
            chosen = np.concatenate([[0], chosen])
    if mode in (_MULTIPLY, _MULTIPLY_MAX):
        for at in chosen:
            flat[at] = _times(flat[at : at + 1], factor, brain)[0]
        return
    bits = flat.view(f"u{flat.dtype.itemsize}")
    width, kind = 8 * flat.dtype.itemsize, bits.dtype.type
    if mode == _BITFLIP:
        np.bitwise_xor.at(bits, chosen, kind(1 << (width - 1 - int(_number(options["bit_pos"])))))
        return
    for at in chosen:  # the highest bit of the exponent that is not set
        for place in range(_EXPONENT.get(flat.dtype, 8)):
            one = kind(1 << (width - 2 - place))
            if not bits[at] & one:
                bits[at] ^= one
                break


def _values(flat: Any, brain: bool) -> Any:
    return from_bfloat16(flat) if brain else flat.astype(np.float32)


def _times(one: Any, factor: Any, brain: bool) -> Any:
    """In the type of the tensor, to which the factor is rounded first."""
    if not brain:
        return one * one.dtype.type(factor)
    rounded = _values(bfloat16(np.reshape(factor, 1)), True)
    return bfloat16(_values(one, True) * rounded)
