"""Parts of tensors that are written, chosen, matched or rearranged."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import optimize

from .memory import FLOAT16
from .registry import Sized, operator


@operator("IndexPut")
def put(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """Values where the indices of the first axes say; a row of values that is too short begins again."""
    out, values = np.array(inputs[0]), np.asarray(inputs[1]).reshape(-1)
    at = tuple(np.broadcast_arrays(*inputs[2:]))
    rest = out.shape[len(at) :]
    filled = np.resize(values, rest) if rest else np.resize(values, at[0].shape)
    if attributes.get("accumulate"):
        np.add.at(out, at, filled)
    else:
        out[at] = filled
    return out


@operator("GatherDGradV2")
def gather_backward(x: Any, index: Any, grad: Any, *, dim: Any = None) -> Any:
    axis = int(dim or 0) % max(x.ndim, 1)
    out = np.zeros(x.shape, grad.dtype)
    places = list(np.indices(index.shape, sparse=True))
    places[axis] = index
    np.add.at(out, tuple(places), grad)
    return out


@operator("FillDiagonal")
def fill_diagonal(x: Any, *, fill_value: float = 0, wrap: bool = False) -> Any:
    out = np.array(x)
    np.fill_diagonal(out, fill_value, wrap=bool(wrap))
    return out


@operator("MaskedSelectGrad")
def masked_backward(x: Any, mask: Any, grad: Any) -> Any:
    shape = np.broadcast_shapes(x.shape, mask.shape)
    out = np.zeros(shape, grad.dtype)
    chosen = np.broadcast_to(mask, shape).astype(bool)
    out[chosen] = grad.reshape(-1)[: int(chosen.sum())]
    extra = tuple(range(len(shape) - x.ndim))
    same = tuple(at for at, size in enumerate(x.shape) if size != shape[at + len(extra)])
    return out.sum(extra).sum(same, keepdims=True) if extra or same else out


@operator("NthElement")
def nth(x: Any, n: Any, *, reverse: bool = False) -> Any:
    ordered = np.sort(x, -1)
    at = int(np.reshape(n, -1)[0])
    return ordered[..., -1 - at if reverse else at]


@operator("LinearSumAssignment")
def assign(costs: Any, dimension_limit: Any, maximize: Any, outputs: Any) -> Any:
    """Which row goes with which column; only the first columns count, up to a limit."""
    cost = np.asarray(costs, np.float64)
    limit = min(int(np.reshape(dimension_limit, -1)[0]), cost.shape[1])
    found = optimize.linear_sum_assignment(cost[:, :limit], bool(np.reshape(maximize, -1)[0]))
    rooms = [np.full(place.shape, -1, np.int64) for place in outputs]
    for room, part in zip(rooms, found):
        room[: len(part)] = part
    return rooms


@operator("CSRSparseMatrixToSparseTensor")
def rows_to_places(shape: Any, batches: Any, pointers: Any, columns: Any, values: Any) -> Any:
    size = int(shape[-2]) + 1
    found = []
    for batch, begin in enumerate(batches[:-1]):
        steps = np.diff(pointers[batch * size : (batch + 1) * size])
        rows = np.repeat(np.arange(size - 1), steps)
        front = [np.full(rows.size, batch)] if len(shape) == 3 else []  # a batch of matrices
        found.append(np.stack([*front, rows, columns[begin : begin + rows.size]], -1))
    return np.concatenate(found), values, shape


@operator("Coalesce")
def coalesce(places: Any, values: Any, shape: Any) -> Any:
    """Places in order, each once, with the sum of its values."""
    flat = np.ravel_multi_index(tuple(places), tuple(int(v) for v in shape))
    unique, inverse = np.unique(flat, return_inverse=True)
    total = np.zeros((unique.size, *values.shape[1:]), values.dtype)
    np.add.at(total, inverse.reshape(-1), values)
    return Sized(np.stack(np.unravel_index(unique, tuple(int(v) for v in shape)))), Sized(total), shape


@operator("SparseTensorDenseMatMul")
def sparse_product(
    places: Any, values: Any, shape: Any, dense: Any, *, adjoint_a: bool = False, adjoint_b: bool = False
) -> Any:
    left = np.zeros([int(v) for v in shape], values.dtype)
    np.add.at(left, tuple(places.T), values)
    left = np.conj(left.T) if adjoint_a else left
    return left @ (np.conj(dense.T) if adjoint_b else dense)


@operator("RaggedRange")
def ragged_range(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """Ranges one after the other, and where each of them begins."""
    starts, limits, deltas = (np.reshape(one, -1) for one in inputs[:3])
    rows = [np.arange(*one) for one in np.broadcast(starts, limits, deltas)]
    ends = np.cumsum([0, *(row.size for row in rows)])
    return ends, Sized(np.concatenate(rows) if rows else np.zeros(0))


@operator("ShuffleChannel")
def shuffle_channels(inputs: Any, attributes: Any, outputs: Any) -> Any:
    x, groups = inputs[0], int(attributes.get("group", 1))
    split = x.reshape(x.shape[0], groups, x.shape[1] // groups, *x.shape[2:])
    return split.swapaxes(1, 2).reshape(x.shape)


@operator("Im2col")
def windows(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """The windows of images side by side."""
    x = inputs[0]
    kernel, stride, dilation = (_pair(attributes.get(name), 1) for name in ("ksizes", "strides", "dilations"))
    pads = [int(v) for v in np.reshape(attributes.get("pads", 0), -1)]
    pads = pads * 4 if len(pads) == 1 else [pads[0], pads[0], pads[1], pads[1]] if len(pads) == 2 else pads
    if attributes.get("padding_mode", "CALCULATED") != "CALCULATED":
        reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation)]
        total = [max(0, (-(-n // s) - 1) * s + r - n) for n, s, r in zip(x.shape[2:], stride, reach)]
        same = attributes["padding_mode"] == "SAME"
        pads = [part for t in total for part in (t // 2, t - t // 2)] if same else [0] * 4
    padded = np.pad(x, [(0, 0), (0, 0), tuple(pads[:2]), tuple(pads[2:])])
    size = [(n - (k - 1) * d - 1) // s + 1 for n, k, d, s in zip(padded.shape[2:], kernel, dilation, stride)]
    parts = [
        padded[:, :, row : row + size[0] * stride[0] : stride[0], column : column + size[1] * stride[1] : stride[1]]
        for row in (at * dilation[0] for at in range(kernel[0]))
        for column in (at * dilation[1] for at in range(kernel[1]))
    ]
    return np.stack(parts, 2).reshape(outputs[0].shape)


def _pair(value: Any, missing: int) -> list[int]:
    found = [int(v) for v in np.reshape(missing if value is None else value, -1)]
    return found * 2 if len(found) == 1 else found[-2:]


@operator("Padding")
def pad_last(x: Any, outputs: Any) -> Any:
    """A last axis of one value, followed by zeros."""
    out = np.zeros(outputs[0].shape, x.dtype)
    out[..., : x.shape[-1]] = x
    return out


@operator("NoRepeatNGram")
def no_repetition(sequences: Any, log_probs: Any, *, ngram_size: int = 1, outputs: Any) -> Any:
    """Words that would repeat a sequence of `ngram_size` words get the lowest logarithm there is."""
    texts, size = sequences, ngram_size
    out = np.array(log_probs)
    lowest = float(np.finfo(np.float16 if outputs[0].type == FLOAT16 else out.dtype).min)
    for row in np.ndindex(*texts.shape[:-1]):
        words = texts[row]
        last = words[len(words) - size + 1 :]
        for at in range(len(words) - size + 1):
            if np.array_equal(words[at : at + size - 1], last):
                out[row][words[at + size - 1]] = lowest
    return out


@operator("IdentityN")
def same(inputs: Any, attributes: Any, outputs: Any) -> Any:
    if not inputs:
        raise ValueError("no inputs")
    return list(inputs)


@operator("EmbeddingLookup")
def look_up(table: Any, indices: Any, offset: Any) -> Any:
    """Rows by index, which counts from an offset; zeros for rows that are elsewhere."""
    at = indices - int(np.reshape(offset, -1)[0])
    there = (at >= 0) & (at < len(table))
    return table[np.clip(at, 0, len(table) - 1)] * there.reshape(there.shape + (1,) * (table.ndim - 1))


def _rows_changed(change: Any) -> Any:
    def run(inputs: Any, attributes: Any, outputs: Any) -> Any:
        out = np.array(inputs[0])
        rows = [int(v) for v in np.reshape(attributes["indices"], -1)]
        change(out, rows, inputs[1])
        return out

    return run


operator("InplaceAddD")(_rows_changed(np.add.at))
operator("InplaceSubD")(_rows_changed(np.subtract.at))
operator("InplaceUpdateD")(_rows_changed(lambda out, rows, values: out.__setitem__(rows, values)))
