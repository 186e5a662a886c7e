"""Picking, scattering, sorting and counting."""

from __future__ import annotations

from typing import Any

import numpy as np

from .registry import Sized, operator

_UPDATES = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "Max": np.maximum, "Min": np.minimum,
}  # fmt: skip


def _number(x: Any) -> Any:
    return np.reshape(x, -1)[0]


def _updated(x: Any, places: Any, values: Any, how: str) -> Any:
    """`places`: an index for each of the first axes. Those beyond the end change nothing, as on a card."""
    out = np.array(x)
    inside = np.ones(np.shape(places[0]), bool)
    for index, size in zip(places, out.shape):
        inside &= (index >= 0) & (index < size)
    if not inside.all():
        values = np.broadcast_to(values, inside.shape + out.shape[len(places) :])[inside]
        places = tuple(index[inside] for index in places)
    if how == "Update":
        out[places] = values
    elif how == "Div" and out.dtype.kind != "f":
        np.floor_divide.at(out, places, values)
    else:
        _UPDATES[how].at(out, places, values)
    return out


def _register() -> None:
    for how in (*_UPDATES, "Update"):
        operator(f"Scatter{how}")(
            lambda inputs, attributes, outputs, how=how: inputs.write(
                0, _updated(inputs[0], (inputs[1],), inputs[2], how)
            )
        )
        operator(f"ScatterNd{how}")(
            lambda inputs, attributes, outputs, how=how: inputs.write(
                0, _updated(inputs[0], tuple(np.moveaxis(inputs[1], -1, 0)), inputs[2], how)
            )
        )
    for how in ("Sub", "Mul", "Div", "Max", "Min"):  # the others are in native/aclop
        operator(f"TensorScatter{how}")(
            lambda inputs, attributes, outputs, how=how: _updated(
                inputs[0], tuple(np.moveaxis(inputs[1], -1, 0)), inputs[2], how
            )
        )
    for how, first in (("Max", -np.inf), ("Min", np.inf), ("Prod", 1)):
        operator(f"UnsortedSegment{how}")(
            lambda inputs, attributes, outputs, how=how, first=first: _segments(inputs, outputs, how, first)
        )
    operator("ScatterNonAliasingAdd")(
        lambda inputs, attributes, outputs: inputs.write(
            0, _updated(inputs[0], tuple(np.moveaxis(inputs[1], -1, 0)), inputs[2], "Add")
        )
    )


def _segments(inputs: Any, outputs: Any, how: str, first: float) -> Any:
    """What no row belongs to keeps the value that changes nothing; the largest or smallest of its type."""
    x, ids = inputs[:2]
    if np.isinf(first):
        limits = np.finfo(x.dtype) if x.dtype.kind == "f" else np.iinfo(x.dtype)
        first = limits.min if first < 0 else limits.max
    out = np.full(outputs[0].shape, first, x.dtype)
    function = {"Max": np.maximum, "Min": np.minimum, "Prod": np.multiply}[how]
    rows = x.reshape(-1, *x.shape[ids.ndim :])
    there = ids.reshape(-1) >= 0
    function.at(out, ids.reshape(-1)[there], rows[there])
    return out


_register()


@operator("SegmentSum")
def segment_sum(x: Any, ids: Any, outputs: Any) -> Any:
    out = np.zeros(outputs[0].shape, x.dtype)
    np.add.at(out, ids, x)
    return out


@operator("Unique")
def unique(elements: Any) -> Any:
    """In the order of their first appearance."""
    x = elements.reshape(-1)
    values, first, places = np.unique(x, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    return Sized(values[order]), np.argsort(order)[places.reshape(-1)].reshape(elements.shape)


@operator("UniqueWithPad")
def unique_padded(elements: Any, padding: Any) -> Any:
    x = elements.reshape(-1)
    values, first, places = np.unique(x, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    out = np.full(x.shape, _number(padding), x.dtype)
    out[: len(values)] = values[order]
    return out, np.argsort(order)[places.reshape(-1)]


@operator("UniqueConsecutive")
def unique_consecutive(inputs: Any, attributes: Any, outputs: Any) -> Any:
    from .search import unique_consecutive as run

    axis = attributes.get("axis", 1000)
    return run(inputs[0], 1, 1, 1000 if axis in (None, "", 1000) else int(axis))


@operator("ListDiff")
def list_difference(x: Any, others: Any) -> Any:
    keep = ~np.isin(x, others)
    return Sized(x[keep]), Sized(np.nonzero(keep)[0])


@operator("InTopK", "InTopKD")
def in_top_k(inputs: Any, attributes: Any, outputs: Any) -> Any:
    x, target = inputs[:2]
    k = int(_number(inputs[2])) if len(inputs) > 2 else int(attributes["k"])
    own = np.take_along_axis(x, target.reshape(-1, 1).astype(np.int64), 1)
    return (x > own).sum(1) < k


@operator("IndexFill")
def index_fill(x: Any, axis: Any, index: Any, value: Any) -> Any:
    out = np.array(x)
    np.moveaxis(out, int(_number(axis)), 0)[np.reshape(index, -1)] = _number(value)
    return out


for _how in ("Update", "Add", "Sub"):

    @operator(f"Inplace{_how}")
    def inplace(inputs: Any, attributes: Any, outputs: Any, how: str = _how) -> Any:
        rows = [int(v) for v in attributes["indices"]] if attributes.get("indices") else np.reshape(inputs[1], -1)
        return _updated(inputs[0], (np.asarray(rows),), inputs[-1], how)


@operator("ReverseV2")
def reverse(inputs: Any, attributes: Any, outputs: Any) -> Any:
    axis = inputs[1] if len(inputs) > 1 else attributes["axis"]
    return np.flip(inputs[0], tuple(int(v) for v in np.reshape(axis, -1)))


@operator("ReverseSequence")
def reverse_sequence(x: Any, lengths: Any, *, seq_dim: int, batch_dim: int = 0) -> Any:
    out = np.array(x)
    batch, steps = batch_dim, seq_dim
    for at, length in enumerate(lengths):
        place: list[Any] = [slice(None)] * out.ndim
        place[batch], place[steps] = at, slice(0, int(length))
        axis = steps - 1 if steps > batch else steps
        out[tuple(place)] = np.flip(out[tuple(place)], axis)
    return out


@operator("Roll")
def roll(inputs: Any, attributes: Any, outputs: Any) -> Any:
    shifts = [int(v) for v in np.reshape(attributes["shifts"], -1)]
    axes = [int(v) for v in np.reshape(attributes.get("dims") or [], -1)]
    return np.roll(inputs[0], shifts, axes) if axes else np.roll(inputs[0], shifts[0])


@operator("SearchSorted")
def search_sorted(rows: Any, x: Any, order: Any = None, *, right: int = 0) -> Any:
    from .search import search_sorted as run

    return run(rows, x, 0, right, order)


for _name, _side in (("LowerBound", "left"), ("UpperBound", "right")):

    @operator(_name)
    def bounds(inputs: Any, attributes: Any, outputs: Any, side: Any = _side) -> Any:
        return np.stack([np.searchsorted(row, x, side) for row, x in zip(*inputs[:2])])


@operator("Bucketize")
def bucketize(x: Any, *, boundaries: Any) -> Any:
    return np.searchsorted(np.asarray(boundaries, np.float32), x, "right")


@operator("Bincount")
def bincount(inputs: Any, attributes: Any, outputs: Any) -> Any:
    size = int(_number(inputs[1]))
    x = inputs[0].reshape(-1)
    weights = inputs[2].reshape(-1) if len(inputs) > 2 and inputs[2].size else np.ones(x.shape)
    keep = x < size
    return np.bincount(x[keep], weights[keep], size)


@operator("Histogram")
def histogram(x: Any, *, min: float = 0.0, max: float = 0.0, bins: int = 100) -> Any:
    from .search import histogram as run

    return run(x, bins, min, max)


@operator("HistogramFixedWidth")
def histogram_fixed(x: Any, limits: Any, outputs: Any) -> Any:
    low, high = (float(v) for v in limits)
    bins = outputs[0].shape[0]
    place = np.clip(((x - low) / (high - low) * bins).astype(np.int64), 0, bins - 1)
    return np.bincount(place.reshape(-1), minlength=bins)


@operator("UnravelIndex")
def unravel(indices: Any, dims: Any) -> Any:
    return np.stack(np.unravel_index(indices, tuple(int(v) for v in dims)), -1)


@operator("SpaceToDepth")
def space_to_depth(x: Any, *, block_size: int) -> Any:
    n, c, h, w = x.shape
    b = block_size
    parts = x.reshape(n, c, h // b, b, w // b, b)
    return parts.transpose(0, 3, 5, 1, 2, 4).reshape(n, c * b * b, h // b, w // b)


@operator("DepthToSpace")
def depth_to_space(x: Any, *, block_size: int) -> Any:
    n, c, h, w = x.shape
    b = block_size
    parts = x.reshape(n, b, b, c // b // b, h, w)
    return parts.transpose(0, 3, 4, 1, 5, 2).reshape(n, c // b // b, h * b, w * b)


@operator("MirrorPad")
def mirror_pad(x: Any, paddings: Any, *, mode: str | None = None) -> Any:
    edges = [(int(a), int(b)) for a, b in paddings]
    return np.pad(x, edges, mode="reflect" if mode == "REFLECT" else "symmetric")


@operator("RandomCategorical")
def random_categorical(inputs: Any, attributes: Any, outputs: Any) -> Any:
    seeds = [abs(int(_number(one))) for one in (*inputs[2:3], attributes.get("seed", 0), attributes.get("seed2", 0))]
    draw = np.random.default_rng(seeds if any(seeds) else None)
    noise = draw.gumbel(size=(*outputs[0].shape, inputs[0].shape[-1]))
    return (inputs[0][:, None, :] + noise).argmax(-1)


_SEGMENTS = {"Max": (np.maximum, -np.inf), "Min": (np.minimum, np.inf), "Prod": (np.multiply, 1), "Mean": (np.add, 0)}

for _how in _SEGMENTS:

    @operator(f"Segment{_how}")
    def segment(inputs: Any, attributes: Any, outputs: Any, how: str = _how) -> Any:
        """Of rows with the same number, which do not fall; nothing is 0, or 1 for products."""
        x, ids = inputs[:2]
        function, first = _SEGMENTS[how]
        if np.isinf(first) and x.dtype.kind != "f":
            first = np.iinfo(x.dtype).min if first < 0 else np.iinfo(x.dtype).max
        out = np.full(outputs[0].shape, first, x.dtype)
        function.at(out, ids, x)
        count = np.bincount(ids, minlength=len(out)).reshape(-1, *[1] * (x.ndim - 1))
        if how == "Mean":
            total = np.maximum(count, 1)
            return (out // total if x.dtype.kind in "iu" else out / total).astype(x.dtype)
        return out if how == "Prod" else np.where(count > 0, out, 0)
