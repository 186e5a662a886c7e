"""Unique values, places in sorted rows, counts, and picking by index."""

from __future__ import annotations

from typing import Any

import numpy as np

from .registry import Sized, operator

_ALL = 1000  # the axis that stands for all of them


@operator("aclnnUnique2")
def unique(x: Any, is_sorted: int, inverse: int, counts: int) -> Any:
    values, places, many = np.unique(x, return_inverse=True, return_counts=True)
    return Sized(values), places.reshape(x.shape) if inverse else None, Sized(many) if counts else None


@operator("aclnnUnique")
def unique_plain(x: Any, is_sorted: int, inverse: int) -> Any:
    return unique(x, is_sorted, inverse, 0)[:2]


@operator("aclnnUniqueDim")
def unique_rows(x: Any, is_sorted: int, inverse: int, axis: int) -> Any:
    values, places, many = np.unique(x, axis=axis, return_inverse=True, return_counts=True)
    return Sized(values), Sized(places.reshape(-1)), Sized(many)


@operator("aclnnUniqueConsecutive")
def unique_consecutive(x: Any, inverse: int, counts: int, axis: int) -> Any:
    rows = x.reshape(-1) if axis == _ALL else np.moveaxis(x, axis, 0)
    flat = rows.reshape(rows.shape[0], -1)
    new = np.ones(len(flat), bool)
    new[1:] = (flat[1:] != flat[:-1]).any(-1)
    places = np.cumsum(new) - 1
    values = rows[new] if axis == _ALL else np.moveaxis(rows[new], 0, axis)
    shape = x.shape if axis == _ALL else (-1,)
    return Sized(values), places.reshape(shape) if inverse else None, Sized(np.bincount(places)) if counts else None


@operator("aclnnSearchSorted")
def search_sorted(rows: Any, x: Any, narrow: int, right: int, order: Any) -> Any:
    if order is not None:
        rows = np.take_along_axis(rows, order, -1)
    side = "right" if right else "left"
    if rows.ndim == 1:
        return np.searchsorted(rows, x, side)
    out = np.empty(x.shape, np.int64)
    for at in np.ndindex(rows.shape[:-1]):
        out[at] = np.searchsorted(rows[at], x[at], side)
    return out


@operator("aclnnBincount")
def bincount(x: Any, weights: Any, least: int) -> Any:
    return np.bincount(x.reshape(-1), None if weights is None else weights.reshape(-1), least)


@operator("aclnnHistc")
def histogram(x: Any, bins: int, low: float, high: float) -> Any:
    if low == high:
        low, high = (x.min(), x.max()) if x.size else (0, 1)
    if low == high:
        low, high = low - 1, high + 1
    return np.histogram(x, bins, (low, high))[0]


@operator("aclnnKthvalue")
def kth_value(x: Any, k: int, axis: int, keep: int) -> Any:
    return _at_place(x, k - 1, axis, keep)


@operator("aclnnMedianDim")
def median(x: Any, axis: int, keep: int) -> Any:
    return _at_place(x, (np.shape(x)[axis] - 1) // 2 if np.ndim(x) else 0, axis, keep)


def _at_place(x: Any, place: int, axis: int, keep: int) -> Any:
    if x.ndim == 0:
        return x, 0
    order = np.take(np.argsort(x, axis=axis, kind="stable"), [place], axis)
    values = np.take_along_axis(x, order, axis)
    return (values, order) if keep else (values.squeeze(axis), order.squeeze(axis))


@operator("aclnnTake")
def take(x: Any, index: Any) -> Any:
    return x.reshape(-1)[index]


@operator("aclnnInplacePut")
def put(x: Any, index: Any, source: Any, add: int) -> Any:
    out = np.array(x).reshape(-1)
    if add:
        np.add.at(out, index.reshape(-1), source.reshape(-1))
    else:
        out[index.reshape(-1)] = source.reshape(-1)
    return out


@operator("aclnnInplaceMaskedScatter")
def masked_scatter(x: Any, mask: Any, source: Any) -> Any:
    out = np.array(x)
    mask = np.broadcast_to(mask, x.shape).astype(bool)
    out[mask] = source.reshape(-1)[: int(mask.sum())]
    return out


@operator("aclnnInplaceIndexCopy")
def index_copy(x: Any, axis: int, index: Any, source: Any) -> Any:
    out = np.array(x)
    np.moveaxis(out, axis, 0)[index] = np.moveaxis(source, axis, 0)
    return out


@operator("aclnnIndexFillTensor", "aclnnInplaceIndexFillTensor")
def index_fill(x: Any, axis: int, index: Any, value: Any) -> Any:
    out = np.array(x)
    np.moveaxis(out, axis, 0)[list(index)] = value
    return out


@operator("aclnnRepeatInterleave", "aclnnRepeatInterleaveInt")
def repeat(x: Any, times: Any, size: int) -> Any:
    return np.repeat(x.reshape(-1), np.reshape(times, -1))


@operator("aclnnRepeatInterleaveWithDim", "aclnnRepeatInterleaveIntWithDim")
def repeat_along(x: Any, times: Any, axis: int, size: int) -> Any:
    return np.repeat(x, np.reshape(times, -1), axis)


@operator("aclnnRepeatInterleaveGrad")
def repeat_backward(grad: Any, times: Any, axis: int) -> Any:
    rows = np.moveaxis(grad, axis, 0)
    times = np.reshape(times, -1)
    if times.size == 1:
        sums = rows.reshape(-1, int(times[0]), *rows.shape[1:]).sum(1)
    else:
        sums = np.zeros((times.size, *rows.shape[1:]), grad.dtype)
        np.add.at(sums, np.repeat(np.arange(times.size), times), rows)
    return np.moveaxis(sums, 0, axis)


@operator("aclnnEmbeddingRenorm")
def renormalize(weight: Any, index: Any, largest: float, power: float) -> Any:
    out = np.array(weight)
    for row in np.unique(index):
        size = np.linalg.norm(out[row], power)
        if size > largest:
            out[row] *= largest / (size + 1e-7)
    return out
