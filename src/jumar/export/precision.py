"""What float16 does to a model: the error of every output, and the nodes that are at risk.

The float32 graph and its rounded twin run side by side; the values of both are compared in parts that fit the memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from jumar.core.compat import zip
from jumar.core.errors import UserError
from jumar.export import half
from jumar.export.execute import Session
from jumar.export.graph import View
from jumar.export.model import array, onnx

PREFIX = "jumar/"
"""Stands before the names of the rounded twin."""
MEMORY = 256 * 2**20
"""Bytes of values that are held at a time, for each of the two graphs."""
UNKNOWN = 4 * 2**20
"""Bytes that a value of unknown shape counts as."""
GROWTH = 8
"""How many nodes the search keeps more in its second round; twice as many in each later one."""
TINY_SHARE = 0.5
"""A value of which more than this share is subnormal counts as a risk."""


class Numbers(NamedTuple):
    """A value in a few numbers: its largest element, the share of subnormal ones, its norm and that of the error."""

    largest: float
    tiny: float
    norm: float
    error: float


class Output(NamedTuple):
    """How far an output of the rounded model is from the float32 one."""

    name: str
    relative: float
    """Norm of the difference over the norm of the output."""
    largest: float
    """The largest difference of one element."""
    cosine: float
    same_top: float
    """Share of rows whose largest element is the same; nan where there are no rows."""
    broken: int
    """Elements that are infinite or no number in float16 and not in float32."""


class Node(NamedTuple):
    name: str
    operator: str
    value: str
    largest: float
    tiny: float
    relative: float
    growth: float
    """Relative error over the largest one of its inputs."""
    risk: str
    """`overflow`, `weight`, `underflow`, `error`, or empty."""


@dataclass(frozen=True)
class Result:
    outputs: tuple[Output, ...]
    nodes: tuple[Node, ...]
    kept: tuple[str, ...]
    reference: tuple[Any, ...]
    rounded: tuple[Any, ...]

    @property
    def worst(self) -> float:
        return max((math.inf if row.broken else row.relative for row in self.outputs), default=0.0)


def measure(proto: Any, view: View, feeds: Mapping[str, Any], policy: half.Policy, seconds: float) -> Result:
    """Run the model in float32 and rounded, and compare them value by value."""
    names = [value.name for value in proto.graph.output]
    watched = [name for node in proto.graph.node for name in node.output if _is_watched(name, view)]
    plain = _watching(proto, proto.graph.node, [], watched, "", seconds)
    rounded = half.Rounded(proto, view.types, policy, PREFIX)
    rounded.build()
    twin = _watching(proto, rounded.nodes, rounded.weights, watched, PREFIX, seconds, rounded)
    numbers: dict[str, Numbers] = {}
    for part in _parts(watched, view):
        left = plain.run(feeds, part)
        right = twin.run(feeds, [f"{PREFIX}{name}" for name in part])
        for name, one, two in zip(part, left, right, strict=True):
            numbers[name] = _numbers(one, two)
    reference = plain.run(feeds, names)
    values = twin.run(feeds, [rounded.name(name) for name in names])
    return Result(
        tuple(_output(name, left, right) for name, left, right in zip(names, reference, values, strict=True)),
        tuple(_nodes(proto.graph.node, numbers, _weights(proto), policy)),
        tuple(sorted(policy.kept)),
        tuple(reference),
        tuple(values),
    )


def keep(
    proto: Any,
    view: View,
    feeds: Mapping[str, Any],
    policy: half.Policy,
    first: Result,
    tolerance: float,
    seconds: float,
) -> Result:
    """Keep what does not fit float16, then ever more of the nodes that add most error, until the tolerance is met."""
    kept = set(policy.kept) | {row.name for row in first.nodes if row.risk in ("overflow", "weight")}
    kept |= _around(proto, first, kept)
    ranked = sorted((row for row in first.nodes if row.name not in kept), key=_badness, reverse=True)
    best, more = first, GROWTH
    while best.worst > tolerance or not kept <= set(best.kept):
        tried = _again(proto, view, feeds, half.Policy(policy.effect, frozenset(kept), policy.saturate), first, seconds)
        if best is first or tried.worst <= best.worst:
            best = tried
        if best.worst <= tolerance or not ranked:
            break
        kept |= {row.name for row in ranked[:more]}
        ranked, more = ranked[more:], 2 * more
    return best


def _again(
    proto: Any, view: View, feeds: Mapping[str, Any], policy: half.Policy, first: Result, seconds: float
) -> Result:
    """The rounded model alone, against outputs that are known already."""
    session = Session(_bytes(half.rewritten(proto, view.types, policy)), optimize=False, seconds=seconds)
    values = session.run(feeds)
    names = [row.name for row in first.outputs]
    rows = tuple(_output(name, left, right) for name, left, right in zip(names, first.reference, values, strict=True))
    return Result(rows, first.nodes, tuple(sorted(policy.kept)), first.reference, tuple(values))


def listing(kept: Iterable[str]) -> str:
    """The file for ATC's `--keep_dtype`: a name in each line."""
    return "".join(f"{name}\n" for name in kept)


def _around(proto: Any, result: Result, kept: set[str]) -> set[str]:
    """The nodes that read a value which does not fit float16: they would round it at their door."""
    large = {row.value for row in result.nodes if row.risk == "overflow"}
    return {node.name for node in proto.graph.node if node.name and large & set(node.input)} - kept


def _badness(row: Node) -> float:
    return math.inf if math.isnan(row.growth) else row.growth * min(row.relative, 1.0)


def _is_watched(name: str, view: View) -> bool:
    kind = view.types.get(name)
    return kind is not None and kind.element == "FLOAT" and not (kind.shape is not None and 0 in kind.shape)


def _watching(
    proto: Any,
    nodes: Any,
    weights: list[Any],
    watched: Iterable[str],
    prefix: str,
    seconds: float,
    rounded: half.Rounded | None = None,
) -> Session:
    """A session that can give every watched value beside the outputs."""
    make, types = onnx().helper.make_tensor_value_info, onnx().TensorProto
    outputs = list(proto.graph.output)
    if rounded is not None:
        outputs = [_like(value, rounded.name(value.name)) for value in outputs]
    taken = {value.name for value in outputs}
    outputs += [make(f"{prefix}{name}", types.FLOAT, None) for name in watched if f"{prefix}{name}" not in taken]
    return Session(_bytes(half.assembled(proto, list(nodes), weights, outputs)), optimize=False, seconds=seconds)


def _parts(watched: Sequence[str], view: View) -> Iterable[list[str]]:
    """The watched values in parts that fit the memory."""
    part: list[str] = []
    size = 0
    for name in watched:
        shape = view.types[name].shape
        known = shape is not None and all(isinstance(dim, int) for dim in shape)
        size += 4 * math.prod(dim for dim in shape or () if isinstance(dim, int)) if known else UNKNOWN
        part.append(name)
        if size > MEMORY:
            yield part
            part, size = [], 0
    if part:
        yield part


def _numbers(one: Any, two: Any) -> Numbers:
    import numpy

    if one.shape != two.shape or not one.size:
        return Numbers(0.0, 0.0, 0.0, 0.0 if one.shape == two.shape else math.inf)
    size = numpy.abs(one)
    tiny = float(((size > 0) & (size < half.TINY)).mean())
    with numpy.errstate(over="ignore", invalid="ignore"):
        error = float(numpy.linalg.norm((two - one).ravel().astype(numpy.float64)))
        norm = float(numpy.linalg.norm(one.ravel().astype(numpy.float64)))
    return Numbers(float(size.max()), tiny, norm, error)


def _like(value: Any, name: str) -> Any:
    copy = onnx().ValueInfoProto()
    copy.CopyFrom(value)
    copy.name = name
    return copy


def _bytes(made: Any) -> bytes:
    try:
        data: bytes = made.SerializeToString()
    except Exception as error:
        raise UserError(
            "the model and its rounded twin have more than 2 GiB together", "run it in parts, or with `--no-scan`"
        ) from error
    return data


def _nodes(
    protos: Sequence[Any], numbers: Mapping[str, Numbers], weights: Mapping[str, float], policy: half.Policy
) -> Iterable[Node]:
    """Each node's numbers, and what is wrong with them; bfloat16 reaches as far as float32, only digits are lost."""
    most, share = (half.MAX, TINY_SHARE) if policy.effect != "bfloat" else (math.inf, math.inf)
    relative = {name: _relative(norm, error) for name, (_, _, norm, error) in numbers.items()}
    for proto in protos:
        if half.is_constant(proto):
            continue
        before = max((relative[name] for name in proto.input if name in relative), default=0.0)
        weight = max((weights[name] for name in proto.input if name in weights), default=0.0)
        for name in proto.output:
            if name not in numbers:
                continue
            largest, tiny, _, _ = numbers[name]
            growth = relative[name] / max(before, 2**-12)
            came_here = not math.isfinite(relative[name]) and math.isfinite(before)
            risk = ""
            if largest > most or not math.isfinite(largest):
                risk = "overflow"
            elif weight > most:
                risk, largest = "weight", weight
            elif came_here:
                risk = "overflow"
            elif tiny > share:
                risk = "underflow"
            elif growth > 16 and relative[name] > 1e-2:
                risk = "error"
            yield Node(proto.name, proto.op_type, name, largest, tiny, relative[name], growth, risk)


def _weights(proto: Any) -> dict[str, float]:
    """The largest element of every float32 weight, whether an initializer or a constant node."""
    import numpy

    types = onnx().TensorProto
    rows = [(tensor.name, tensor) for tensor in proto.graph.initializer]
    rows += [
        (node.output[0], attribute.t)
        for node in proto.graph.node
        if half.is_constant(node)
        for attribute in node.attribute
        if attribute.name == "value" and node.output
    ]
    found = {}
    for name, tensor in rows:
        if tensor.data_type == types.FLOAT:
            values = array(tensor)
            found[name] = float(numpy.abs(values).max(initial=0.0))
    return found


def _relative(norm: float, error: float) -> float:
    if math.isnan(error):
        return math.inf
    return error / norm if norm > 0 else (0.0 if error == 0 else math.inf)


def _output(name: str, left: Any, right: Any) -> Output:
    import numpy

    if getattr(left, "dtype", None) is None or left.dtype.kind not in "fiub":
        return Output(name, 0.0, 0.0, 1.0, math.nan, 0)
    if left.shape != right.shape:
        # As many boxes as pass a threshold: another number of them is another result.
        return Output(name, math.inf, math.inf, 0.0, math.nan, int(right.size))
    a, b = left.astype(numpy.float64).ravel(), right.astype(numpy.float64).ravel()
    broken = int((numpy.isfinite(a) & ~numpy.isfinite(b)).sum())
    good = numpy.isfinite(a) & numpy.isfinite(b)
    a, b = a[good], b[good]
    gap = numpy.abs(a - b)
    norm = float(numpy.linalg.norm(a))
    cosine = float(a @ b / (norm * numpy.linalg.norm(b))) if norm and numpy.any(b) else float(not numpy.any(gap))
    top = math.nan
    if left.ndim >= 2 and left.shape[-1] > 1 and left.size:
        top = float((left.argmax(-1) == right.argmax(-1)).mean())
    return Output(
        name, _relative(norm, float(numpy.linalg.norm(gap))), float(gap.max(initial=0.0)), cosine, top, broken
    )
