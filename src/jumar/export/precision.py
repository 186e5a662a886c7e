"""What float16 does to a model: the error of every output, and the nodes that are at risk.

The float32 graph and its rounded twin run side by side in one session; each value is reduced to a few numbers there, so
that no activation is kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from jumar.core.errors import UserError
from jumar.export import half
from jumar.export.execute import Session
from jumar.export.graph import View
from jumar.export.model import array, onnx

STATS = ("largest", "tiny", "norm", "error")
GROWTH = 8
"""How many nodes the search keeps more in its second round; twice as many in each later one."""
TINY_SHARE = 0.5
"""A value of which more than this share is subnormal counts as a risk."""


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
    rounded = half.Rounded(proto, view.types, policy, "jumar/")
    rounded.build()
    graph = proto.graph
    watched = [name for node in graph.node for name in node.output if _is_watched(name, view)]
    names = [value.name for value in graph.output]
    nodes = [*graph.node, *rounded.nodes, *_statistics(watched, rounded)]
    twins = [rounded.name(name) for name in names]
    outputs = [
        *graph.output,
        *(_like(value, twin) for value, twin in zip(graph.output, twins, strict=True) if twin != value.name),
    ]
    stats = [f"jumar/stat/{name}/{kind}" for name in watched for kind in STATS]
    make, types = onnx().helper.make_tensor_value_info, onnx().TensorProto
    outputs += [make(name, types.FLOAT, []) for name in stats]
    made = half.assembled(proto, nodes, [*rounded.weights, _tiny()], outputs)
    session = Session(_bytes(made), optimize=False, seconds=seconds)
    found = dict(zip(session.outputs, session.run(feeds), strict=True))
    numbers = {name: tuple(float(found[f"jumar/stat/{name}/{kind}"]) for kind in STATS) for name in watched}
    reference, half_values = [found[name] for name in names], [found[twin] for twin in twins]
    return Result(
        tuple(_output(name, left, right) for name, left, right in zip(names, reference, half_values, strict=True)),
        tuple(_nodes(graph.node, numbers, _weights(proto))),
        tuple(sorted(policy.kept)),
        tuple(reference),
        tuple(half_values),
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
    session = Session(_bytes(half.rewritten(proto, view.types, policy)), seconds=seconds)
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


def _statistics(watched: Iterable[str], rounded: half.Rounded) -> Iterable[Any]:
    make, types = onnx().helper.make_node, onnx().TensorProto
    for name in watched:
        stat = f"jumar/stat/{name}/"
        rows: tuple[tuple[str, list[str], str, dict[str, int]], ...] = (
            ("Abs", [name], f"{stat}abs", {}),
            ("ReduceMax", [f"{stat}abs"], f"{stat}largest", {"keepdims": 0}),
            ("Less", [f"{stat}abs", "jumar/tiny"], f"{stat}small", {}),
            ("Sign", [f"{stat}abs"], f"{stat}sign", {}),
            ("Cast", [f"{stat}small"], f"{stat}number", {"to": types.FLOAT}),
            ("Mul", [f"{stat}number", f"{stat}sign"], f"{stat}counted", {}),
            ("ReduceMean", [f"{stat}counted"], f"{stat}tiny", {"keepdims": 0}),
            ("ReduceL2", [name], f"{stat}norm", {"keepdims": 0}),
            ("Sub", [rounded.name(name), name], f"{stat}gap", {}),
            ("ReduceL2", [f"{stat}gap"], f"{stat}error", {"keepdims": 0}),
        )
        for operator, inputs, output, attributes in rows:
            yield make(operator, inputs, [output], name=output, **attributes)


def _tiny() -> Any:
    return onnx().helper.make_tensor("jumar/tiny", onnx().TensorProto.FLOAT, [], [half.TINY])


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
    protos: Sequence[Any], numbers: Mapping[str, tuple[float, ...]], weights: Mapping[str, float]
) -> Iterable[Node]:
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
            if largest > half.MAX or not math.isfinite(largest):
                risk = "overflow"
            elif weight > half.MAX:
                risk, largest = "weight", weight
            elif came_here:
                risk = "overflow"
            elif tiny > TINY_SHARE:
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
