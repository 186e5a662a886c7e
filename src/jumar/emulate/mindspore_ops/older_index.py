"""Picking, scattering, sorting and counting by type (operators of the older interface)."""

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
            lambda inputs, _, __, how=how: inputs.write(0, _updated(inputs[0], (inputs[1],), inputs[2], how))
        )
        operator(f"ScatterNd{how}")(
            lambda inputs, _, __, how=how: inputs.write(
                0, _updated(inputs[0], tuple(np.moveaxis(inputs[1], -1, 0)), inputs[2], how)
            )
        )
    for how in ("Sub", "Mul", "Div", "Max", "Min"):  # the others are in native/aclop
        operator(f"TensorScatter{how}")(
            lambda inputs, _, __, how=how: _updated(inputs[0], tuple(np.moveaxis(inputs[1], -1, 0)), inputs[2], how)
        )
    for how, first in (("Max", -np.inf), ("Min", np.inf), ("Prod", 1)):
        operator(f"UnsortedSegment{how}")(
            lambda inputs, _, outputs, how=how, first=first: _segments(inputs, outputs, how, first)
        )
    operator("ScatterNonAliasingAdd")(
        lambda inputs, _, __: inputs.write(
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
def segment_sum(inputs: Any, _: Any, outputs: Any) -> Any:
    out = np.zeros(outputs[0].shape, inputs[0].dtype)
    np.add.at(out, inputs[1], inputs[0])
    return out


@operator("Unique")
def unique(inputs: Any, _: Any, __: Any) -> Any:
    """In the order of their first appearance."""
    x = inputs[0].reshape(-1)
    values, first, places = np.unique(x, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    return Sized(values[order]), np.argsort(order)[places.reshape(-1)].reshape(inputs[0].shape)


@operator("UniqueWithPad")
def unique_padded(inputs: Any, _: Any, outputs: Any) -> Any:
    x = inputs[0].reshape(-1)
    values, first, places = np.unique(x, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    out = np.full(x.shape, _number(inputs[1]), x.dtype)
    out[: len(values)] = values[order]
    return out, np.argsort(order)[places.reshape(-1)]


@operator("UniqueConsecutive")
def unique_consecutive(inputs: Any, attributes: Any, _: Any) -> Any:
    from .search import unique_consecutive as run

    axis = attributes.get("axis", 1000)
    return run(inputs[0], 1, 1, 1000 if axis in (None, "", 1000) else int(axis))


@operator("ListDiff")
def list_difference(inputs: Any, _: Any, __: Any) -> Any:
    keep = ~np.isin(inputs[0], inputs[1])
    return Sized(inputs[0][keep]), Sized(np.nonzero(keep)[0])


@operator("InTopK", "InTopKD")
def in_top_k(inputs: Any, attributes: Any, _: Any) -> Any:
    x, target = inputs[:2]
    k = int(_number(inputs[2])) if len(inputs) > 2 else int(attributes["k"])
    own = np.take_along_axis(x, target.reshape(-1, 1).astype(np.int64), 1)
    return (x > own).sum(1) < k


@operator("IndexFill")
def index_fill(inputs: Any, _: Any, __: Any) -> Any:
    out = np.array(inputs[0])
    np.moveaxis(out, int(_number(inputs[1])), 0)[np.reshape(inputs[2], -1)] = _number(inputs[3])
    return out


for _how in ("Update", "Add", "Sub"):

    @operator(f"Inplace{_how}")
    def inplace(inputs: Any, attributes: Any, _: Any, how: str = _how) -> Any:
        rows = [int(v) for v in attributes["indices"]] if attributes.get("indices") else np.reshape(inputs[1], -1)
        return _updated(inputs[0], (np.asarray(rows),), inputs[-1], how)


@operator("ReverseV2")
def reverse(inputs: Any, attributes: Any, _: Any) -> Any:
    axis = inputs[1] if len(inputs) > 1 else attributes["axis"]
    return np.flip(inputs[0], tuple(int(v) for v in np.reshape(axis, -1)))


@operator("ReverseSequence")
def reverse_sequence(inputs: Any, attributes: Any, _: Any) -> Any:
    out = np.array(inputs[0])
    batch, steps = int(attributes.get("batch_dim", 0)), int(attributes["seq_dim"])
    for at, length in enumerate(inputs[1]):
        place: list[Any] = [slice(None)] * out.ndim
        place[batch], place[steps] = at, slice(0, int(length))
        axis = steps - 1 if steps > batch else steps
        out[tuple(place)] = np.flip(out[tuple(place)], axis)
    return out


@operator("Roll")
def roll(inputs: Any, attributes: Any, _: Any) -> Any:
    shifts = [int(v) for v in np.reshape(attributes["shifts"], -1)]
    axes = [int(v) for v in np.reshape(attributes.get("dims") or [], -1)]
    return np.roll(inputs[0], shifts, axes) if axes else np.roll(inputs[0], shifts[0])


@operator("SearchSorted")
def search_sorted(inputs: Any, attributes: Any, _: Any) -> Any:
    from .search import search_sorted as run

    return run(inputs[0], inputs[1], 0, int(attributes.get("right", 0)), inputs.get(2))


for _name, _side in (("LowerBound", "left"), ("UpperBound", "right")):

    @operator(_name)
    def bounds(inputs: Any, attributes: Any, _: Any, side: Any = _side) -> Any:
        return np.stack([np.searchsorted(row, x, side) for row, x in zip(*inputs[:2])])


@operator("Bucketize")
def bucketize(inputs: Any, attributes: Any, _: Any) -> Any:
    return np.searchsorted(np.asarray(attributes["boundaries"], np.float32), inputs[0], "right")


@operator("Bincount")
def bincount(inputs: Any, _: Any, outputs: Any) -> Any:
    size = int(_number(inputs[1]))
    x = inputs[0].reshape(-1)
    weights = inputs[2].reshape(-1) if len(inputs) > 2 and inputs[2].size else np.ones(x.shape)
    keep = x < size
    return np.bincount(x[keep], weights[keep], size)


@operator("Histogram")
def histogram(inputs: Any, attributes: Any, _: Any) -> Any:
    from .search import histogram as run

    return run(inputs[0], int(attributes.get("bins", 100)), attributes.get("min", 0.0), attributes.get("max", 0.0))


@operator("HistogramFixedWidth")
def histogram_fixed(inputs: Any, attributes: Any, outputs: Any) -> Any:
    low, high = (float(v) for v in inputs[1])
    bins = outputs[0].shape[0]
    place = np.clip(((inputs[0] - low) / (high - low) * bins).astype(np.int64), 0, bins - 1)
    return np.bincount(place.reshape(-1), minlength=bins)


@operator("UnravelIndex")
def unravel(inputs: Any, _: Any, __: Any) -> Any:
    return np.stack(np.unravel_index(inputs[0], tuple(int(v) for v in inputs[1])), -1)


@operator("SpaceToDepth")
def space_to_depth(inputs: Any, attributes: Any, _: Any) -> Any:
    n, c, h, w = inputs[0].shape
    b = int(attributes["block_size"])
    parts = inputs[0].reshape(n, c, h // b, b, w // b, b)
    return parts.transpose(0, 3, 5, 1, 2, 4).reshape(n, c * b * b, h // b, w // b)


@operator("DepthToSpace")
def depth_to_space(inputs: Any, attributes: Any, _: Any) -> Any:
    n, c, h, w = inputs[0].shape
    b = int(attributes["block_size"])
    parts = inputs[0].reshape(n, b, b, c // b // b, h, w)
    return parts.transpose(0, 3, 4, 1, 5, 2).reshape(n, c // b // b, h * b, w * b)


@operator("MirrorPad")
def mirror_pad(inputs: Any, attributes: Any, _: Any) -> Any:
    edges = [(int(a), int(b)) for a, b in inputs[1]]
    return np.pad(inputs[0], edges, mode="reflect" if attributes.get("mode") == "REFLECT" else "symmetric")


@operator("RandomCategorical")
def random_categorical(inputs: Any, attributes: Any, outputs: Any) -> Any:
    seeds = [abs(int(_number(one))) for one in (*inputs[2:3], attributes.get("seed", 0), attributes.get("seed2", 0))]
    draw = np.random.default_rng(seeds if any(seeds) else None)
    noise = draw.gumbel(size=(*outputs[0].shape, inputs[0].shape[-1]))
    return (inputs[0][:, None, :] + noise).argmax(-1)


_SEGMENTS = {"Max": (np.maximum, -np.inf), "Min": (np.minimum, np.inf), "Prod": (np.multiply, 1), "Mean": (np.add, 0)}

for _how in _SEGMENTS:

    @operator(f"Segment{_how}")
    def segment(inputs: Any, _: Any, outputs: Any, how: str = _how) -> Any:
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
