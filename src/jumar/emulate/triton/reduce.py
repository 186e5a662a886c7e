"""Reductions and scans: along an axis of the block, never along the lanes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import triton.language as tl

from jumar.emulate.triton.numbers import value, wide

Combine = Callable[..., Any]


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
    order = slice(None, None, -1) if reverse else slice(None)
    columns = [_columns(one, axis, order) for one in tensors]
    standard = {tl.standard._sum_combine: np.add, tl.standard._prod_combine: np.multiply}
    step = standard.get(combine_fn)
    if step is not None and not several:
        data = np.flip(wide(tensors[0].handle), axis + 1) if reverse else wide(tensors[0].handle)
        done = step.accumulate(data, axis=axis + 1, dtype=data.dtype)
        stacks = [np.flip(done, axis + 1) if reverse else done]
    else:
        running, rows = [column[0] for column in columns], [[column[0]] for column in columns]
        for turn in range(1, len(columns[0])):
            running = _together(call(combine_fn, *running, *(column[turn] for column in columns)))
            for row, one in zip(rows, running):
                row.append(one)
        stacks = [_stack([one.handle.data for one in row], axis, order) for row in rows]
    shape = [int(getattr(size, "value", size)) for size in tensors[0].shape]
    found = [_tensor(stack, one.dtype, shape) for stack, one in zip(stacks, tensors)]
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
        return [np.fmax.reduce(data, axis=axis + 1)]
    if combine_fn is getattr(standard, "_elementwise_min", None):
        return [np.fmin.reduce(data, axis=axis + 1)]
    if combine_fn is getattr(standard, "_xor_combine", None):
        return [np.bitwise_xor.reduce(data, axis=axis + 1)]
    return None


def _best(data: Any, places: Any, axis: int, *, greatest: bool) -> list[Any]:
    if data.dtype.kind == "f":
        data = np.where(np.isnan(data), -np.inf if greatest else np.inf, data)
    which = np.expand_dims(np.argmax(data, axis) if greatest else np.argmin(data, axis), axis)
    places = np.broadcast_to(places, np.broadcast_shapes(places.shape, data.shape))
    which_places = np.broadcast_to(which, (*places.shape[:axis], 1, *places.shape[axis + 1 :]))
    best = np.take_along_axis(data, which, axis)
    return [best.squeeze(axis), np.take_along_axis(places, which_places, axis).squeeze(axis)]


def _fold(tensors: list[Any], axis: int, combine_fn: Any, call: Combine) -> list[Any]:
    columns = [_columns(one, axis, slice(None)) for one in tensors]
    running = [column[0] for column in columns]
    for turn in range(1, len(columns[0])):
        running = _together(call(combine_fn, *running, *(column[turn] for column in columns)))
    return [_numbers(one) for one in running]


def _columns(tensor: Any, axis: int, order: slice) -> list[Any]:
    """The tensor cut along an axis."""
    data = np.moveaxis(tensor.handle.data, axis + 1, 0)[order]
    shape = [size for place, size in enumerate(tensor.handle.data.shape[1:]) if place != axis]
    return [_tensor(one, tensor.dtype, shape) for one in data]


def _stack(rows: list[Any], axis: int, order: slice) -> Any:
    count = max(len(row) for row in rows)
    wide_rows = [np.broadcast_to(row, (count, *row.shape[1:])) for row in rows]
    return np.stack(wide_rows[order], axis=axis + 1)


def _together(answer: Any) -> list[Any]:
    return list(answer) if _is_tuple(answer) else [answer]


def _is_tuple(given: Any) -> bool:
    """Python's own, or the one that Triton has since 3.3."""
    return type(given).__name__ == "tuple"


def _numbers(one: Any) -> Any:
    return one.handle.data if isinstance(one, tl.tensor) else np.asarray([one])


def _flat(tensor: Any) -> Any:
    data = tensor.handle.data
    return _tensor(data.reshape(len(data), -1), tensor.dtype, [data[0].size])


def _tensor(data: Any, dtype: Any, shape: list[int]) -> Any:
    handle = value(data.reshape(len(data), *shape), dtype)
    return tl.tensor(handle, tl.block_type(dtype.scalar, shape) if shape else dtype.scalar)
