"""Reductions and scans: along an axis of the block, never along the lanes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import triton.language as tl

from jumar.emulate.triton.blocks import same_lanes
from jumar.emulate.triton.numbers import value, wide

Combine = Callable[..., Any]
Steps = Callable[[list[Any], list[Any]], list[Any]]


def reduce(given: Any, axis: Any, combine_fn: Any, call: Combine, *, keep_dims: bool) -> Any:
    """`tl.reduce`: of one tensor or of several together."""
    several = _is_tuple(given)
    tensors = list(given) if several else [given]
    rank = len(tensors[0].shape)
    if axis is None:
        tensors, axis, dropped = [_flat(one) for one in tensors], 0, rank
    else:
        axis, dropped = axis % rank, 1
    answers = _known(tensors, axis, combine_fn) or _fold(tensors, axis, combine_fn, call)
    shape = list(tensors[0].shape)
    rest = [int(getattr(size, "value", size)) for place, size in enumerate(shape) if place != axis]
    if keep_dims:
        rest = [1] * rank if dropped == rank else [*rest[:axis], 1, *rest[axis:]]
    found = [_tensor(answer, one.dtype, rest) for answer, one in zip(answers, tensors)]
    return tuple(found) if several else found[0]


def scan(given: Any, axis: int, combine_fn: Any, call: Combine, *, reverse: bool) -> Any:
    """`tl.associative_scan`."""
    several = _is_tuple(given)
    tensors = list(given) if several else [given]
    axis %= len(tensors[0].shape)
    standard = {tl.standard._sum_combine: np.add, tl.standard._prod_combine: np.multiply}
    step = standard.get(combine_fn)
    if step is not None and not several:
        data = wide(tensors[0].handle)
        data = np.flip(data, axis + 1) if reverse else data
        rows = [step.accumulate(data, axis=axis + 1, dtype=data.dtype)]
    else:
        arrays = _first_axis(tensors, axis)
        arrays = [np.flip(one, 1) for one in arrays] if reverse else arrays
        steps = _steps(tensors, combine_fn, call)
        rows = [np.moveaxis(one, 1, axis + 1) for one in _running(arrays, steps)]
    rows = [np.flip(one, axis + 1) for one in rows] if reverse else rows
    shape = [int(getattr(size, "value", size)) for size in tensors[0].shape]
    found = [_tensor(row, one.dtype, shape) for row, one in zip(rows, tensors)]
    return tuple(found) if several else found[0]


def _known(tensors: list[Any], axis: int, combine_fn: Any) -> list[Any] | None:
    """The reductions that numpy has; a number that is none loses against every other, as `tl.max` has it."""
    standard, data = tl.standard, wide(tensors[0].handle)
    if len(tensors) == 2:
        for word in ("max", "min"):
            names = (f"_arg{word}_combine_tie_break_left", f"_arg{word}_combine_tie_break_fast")
            if any(combine_fn is getattr(standard, name, None) for name in names):
                return _best(data, wide(tensors[1].handle), axis + 1, greatest=word == "max")
        return None
    if combine_fn is standard._sum_combine:
        dtype = data.dtype if data.dtype != np.bool_ else np.int8
        return [np.sum(data, axis=axis + 1, dtype=dtype)]
    if combine_fn is getattr(standard, "_elementwise_max", None):
        return [_extreme(data, np.maximum, np.fmax, axis + 1)]
    if combine_fn is getattr(standard, "_elementwise_min", None):
        return [_extreme(data, np.minimum, np.fmin, axis + 1)]
    if combine_fn is getattr(standard, "_xor_combine", None):
        return [np.bitwise_xor.reduce(data, axis=axis + 1)]
    return None


def _extreme(data: Any, quick: Any, careful: Any, axis: int) -> Any:
    """numpy has vector instructions for the one that keeps what is no number, and none for the other."""
    found = quick.reduce(data, axis=axis)
    return careful.reduce(data, axis=axis) if data.dtype.kind == "f" and np.isnan(found).any() else found


def _best(data: Any, places: Any, axis: int, *, greatest: bool) -> list[Any]:
    if data.dtype.kind == "f":
        data = np.where(np.isnan(data), -np.inf if greatest else np.inf, data)
    which = np.expand_dims(np.argmax(data, axis) if greatest else np.argmin(data, axis), axis)
    places = np.broadcast_to(places, np.broadcast_shapes(places.shape, data.shape))
    which_places = np.broadcast_to(which, (*places.shape[:axis], 1, *places.shape[axis + 1 :]))
    best = np.take_along_axis(data, which, axis)
    return [best.squeeze(axis), np.take_along_axis(places, which_places, axis).squeeze(axis)]


def _fold(tensors: list[Any], axis: int, combine_fn: Any, call: Combine) -> list[Any]:
    """Neighbours are combined until one is left: their order stays, as an associative function needs."""
    arrays, steps = _first_axis(tensors, axis), _steps(tensors, combine_fn, call)
    while (count := arrays[0].shape[1]) > 1:
        rest = [one[:, -1:] for one in arrays] if count % 2 else []
        arrays = steps([one[:, 0 : count - 1 : 2] for one in arrays], [one[:, 1::2] for one in arrays])
        arrays = [np.concatenate(same_lanes(*pair), axis=1) for pair in zip(arrays, rest)] if rest else arrays
    return [one[:, 0] for one in arrays]


def _running(arrays: list[Any], steps: Steps) -> list[Any]:
    """What `steps` makes of each place and all before it, in as many turns as the length has bits."""
    count = arrays[0].shape[1]
    if count < 2:
        return arrays
    pairs = steps([one[:, 0 : count - 1 : 2] for one in arrays], [one[:, 1::2] for one in arrays])
    odd = _running(pairs, steps)
    firsts = [one[:, :1] for one in arrays]
    if count > 2:
        before = [one[:, : (count - 1) // 2] for one in odd]
        more = steps(before, [one[:, 2::2] for one in arrays])
        firsts = [np.concatenate(same_lanes(*pair), axis=1) for pair in zip(firsts, more)]
    found = []
    for even, other in zip(firsts, odd):
        even, other = same_lanes(even, other)
        row = np.empty((len(even), count, *even.shape[2:]), even.dtype)
        row[:, 0::2], row[:, 1::2] = even, other
        found.append(row)
    return found


def _steps(tensors: list[Any], combine_fn: Any, call: Combine) -> Steps:
    """The function that combines, for arrays of many places at once; answers keep the types of the tensors."""

    def steps(left: list[Any], right: list[Any]) -> list[Any]:
        words = [
            _tensor(array, one.dtype, list(array.shape[1:]))
            for side in (left, right)
            for array, one in zip(side, tensors)
        ]
        answers = _together(call(combine_fn, *words))
        shape = left[0].shape[1:]
        found = [value(_wide_numbers(one), before.dtype).data for one, before in zip(answers, tensors)]
        return [np.broadcast_to(one, (len(one), *shape)) for one in found]

    return steps


def _first_axis(tensors: list[Any], axis: int) -> list[Any]:
    """The bits of each tensor with the axis in front, behind the lanes."""
    return [np.moveaxis(one.handle.data, axis + 1, 1) for one in tensors]


def _together(answer: Any) -> list[Any]:
    return list(answer) if _is_tuple(answer) else [answer]


def _is_tuple(given: Any) -> bool:
    """Python's own, or the one that Triton has since 3.3."""
    return type(given).__name__ == "tuple"


def _wide_numbers(one: Any) -> Any:
    return wide(one.handle) if isinstance(one, tl.tensor) else np.asarray([one])


def _flat(tensor: Any) -> Any:
    data = tensor.handle.data
    return _tensor(data.reshape(len(data), -1), tensor.dtype, [data[0].size])


def _tensor(data: Any, dtype: Any, shape: list[int]) -> Any:
    handle = value(data.reshape(len(data), *shape), dtype)
    return tl.tensor(handle, tl.block_type(dtype.scalar, shape) if shape else dtype.scalar)
