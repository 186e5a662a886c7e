"""Writes into a graph the rounding to float16 that a precision mode of ATC means.

Every operator computes in float32 and its inputs and outputs are rounded to float16 where the mode says so: that is the
way the matrix unit works (float16 in, float32 sums), and close to what vector operators do. Graphs inside `If` and
`Loop` stay float32. Fusions of the real compiler round less often: real errors are mostly smaller.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from jumar.core.errors import UserError
from jumar.export.graph import OWN, Type
from jumar.export.model import array, graphs, onnx, opset
from jumar.tables import atc

MAX = 65504.0
"""The largest float16."""
_CASTS = 13
"""The opset from which on ONNX casts to bfloat16."""
TINY = 2.0**-14
"""Below this a float16 is subnormal: it has fewer digits, and a unit that flushes makes it 0."""


@dataclass(frozen=True)
class Policy:
    """Which nodes take float16 in and give float16 out."""

    effect: str
    """half, bfloat, matrix, inputs or none, as in atc.toml."""
    kept: frozenset[str] = frozenset()
    """Names of nodes that keep float32."""
    saturate: bool = False
    """Does a number that is too large become the largest one, and not infinity?"""

    def rounds(self, node: Any) -> tuple[bool, bool]:
        """Are the inputs, are the outputs of a node rounded?"""
        if self.effect == "none" or node.name in self.kept or is_constant(node):
            return False, False
        is_matrix = node.domain in OWN and node.op_type in atc.options()["matrix"]
        if self.effect in ("half", "bfloat"):
            return True, True
        if self.effect == "inputs":
            return is_matrix, False
        return is_matrix, is_matrix


@dataclass
class Rounded:
    """A graph that is being written: `name` gives the rounded twin of a value."""

    proto: Any
    types: dict[str, Type]
    policy: Policy
    prefix: str = ""
    nodes: list[Any] = field(default_factory=list)
    weights: list[Any] = field(default_factory=list)
    _twins: dict[str, str] = field(default_factory=dict)
    _tensors: dict[str, Any] = field(default_factory=dict)

    def build(self) -> None:
        """Append all nodes of the graph in their rounded form."""
        if self.policy.effect == "bfloat" and opset(self.proto) < _CASTS:
            raise UserError(
                f"rounding to bfloat16 needs opset {_CASTS}, the model has {opset(self.proto)}",
                f"export it again with `opset_version={_CASTS}` or newer",
            )
        self._tensors = {tensor.name: tensor for tensor in self.proto.graph.initializer}
        for node in self.proto.graph.node:
            self._add(node)

    def name(self, value: str) -> str:
        """A value as this graph computes it; inputs and weights are shared with the original."""
        return f"{self.prefix}{value}" if value in self._computed else value

    @property
    def _clamps(self) -> bool:
        """bfloat16 reaches as far as float32."""
        return self.policy.saturate and self.policy.effect != "bfloat"

    @property
    def _computed(self) -> Collection[str]:
        if not hasattr(self, "_outputs"):
            self._outputs = {output for node in self.proto.graph.node for output in node.output if output}
        return self._outputs

    def _add(self, node: Any) -> None:
        package = onnx()
        inward, outward = self.policy.rounds(node)
        copy = package.NodeProto()
        copy.CopyFrom(node)
        copy.name = f"{self.prefix}{node.name}"
        copy.input[:] = [
            self._half(name) if inward and self._is_float(name) else self.name(name) for name in node.input
        ]
        copy.output[:] = [self.name(name) for name in node.output]
        for attribute in copy.attribute:
            for inner in (attribute.g, *attribute.graphs):
                if inner.node:
                    self._rename_inside(inner)
        if not outward:
            self.nodes.append(copy)
            return
        raw = {name: f"{self.name(name)}/raw" for name in node.output if self._is_float(name)}
        copy.output[:] = [raw.get(name, self.name(name)) for name in node.output]
        self.nodes.append(copy)
        for name, before in raw.items():
            self._round(before, self.name(name))

    def _half(self, name: str) -> str:
        """The rounded twin of a value, made on first use."""
        if name not in self._twins:
            twin = self._twins[name] = f"{self.name(name)}/half/{self.prefix}"
            if name in self._tensors:
                self.weights.append(rounded_tensor(self._tensors[name], twin, self._clamps, self.policy.effect))
            else:
                self._round(self.name(name), twin)
        return self._twins[name]

    def _round(self, before: str, after: str) -> None:
        make = onnx().helper.make_node
        if self._clamps:
            low, high = f"{after}/low", f"{after}/high"
            # Min and Max take numbers of both signs and leave nan alone, at every opset from 8 on.
            self.nodes.append(make("Min", [before, LIMITS[1]], [low], name=low))
            self.nodes.append(make("Max", [low, LIMITS[0]], [high], name=high))
            before = high
        types = onnx().TensorProto
        kind = types.BFLOAT16 if self.policy.effect == "bfloat" else types.FLOAT16
        self.nodes.append(make("Cast", [before], [f"{after}/16"], name=f"{after}/16", to=kind))
        self.nodes.append(make("Cast", [f"{after}/16"], [after], name=f"{after}/32", to=types.FLOAT))

    def _is_float(self, name: str) -> bool:
        return bool(name) and name in self.types and self.types[name].element == "FLOAT"

    def _rename_inside(self, graph: Any) -> None:
        for inner in graphs(graph):
            for node in inner.node:
                node.input[:] = [self.name(name) for name in node.input]
            for value in inner.output:
                value.name = self.name(value.name)


def is_constant(node: Any) -> bool:
    """A weight that was written as a node: it is rounded where it is used."""
    return node.op_type == "Constant" and node.domain in OWN


LIMITS = ("jumar/lowest", "jumar/largest")
"""Names of the constants that saturation needs."""


def limits() -> list[Any]:
    make, types = onnx().helper.make_tensor, onnx().TensorProto
    return [make(LIMITS[0], types.FLOAT, [], [-MAX]), make(LIMITS[1], types.FLOAT, [], [MAX])]


def rounded_tensor(tensor: Any, name: str, saturate: bool, effect: str = "half") -> Any:
    """A float32 tensor with its values rounded to float16, or to bfloat16."""
    import numpy

    values = array(tensor)
    if effect == "bfloat":
        return onnx().numpy_helper.from_array(bfloat16(values), name)
    if saturate:
        values = numpy.clip(values, -MAX, MAX)
    with numpy.errstate(over="ignore"):
        return onnx().numpy_helper.from_array(values.astype(numpy.float16).astype(numpy.float32), name)


def bfloat16(values: Any) -> Any:
    """float32 values with the 8 digits of bfloat16, rounded to even."""
    import numpy

    bits = numpy.ascontiguousarray(values, dtype=numpy.float32).view(numpy.uint32)
    up = ((bits >> 16) & 1) + numpy.uint32(0x7FFF)
    return numpy.where(numpy.isfinite(values), ((bits + up) & numpy.uint32(0xFFFF0000)).view(numpy.float32), values)


def rewritten(proto: Any, types: dict[str, Type], policy: Policy) -> Any:
    """The whole model in its rounded form, with the same inputs and outputs."""
    outputs = {value.name for value in proto.graph.output}
    graph = Rounded(proto, types, policy, "jumar/")
    graph.build()
    identity: Callable[..., Any] = onnx().helper.make_node
    for name in outputs & set(graph._computed):
        graph.nodes.append(identity("Identity", [graph.name(name)], [name], name=f"jumar/out/{name}"))
    return assembled(proto, graph.nodes, graph.weights, proto.graph.output)


def assembled(proto: Any, nodes: list[Any], weights: list[Any], outputs: Any) -> Any:
    """A model of these nodes with the inputs and weights of another."""
    made = onnx().ModelProto()
    made.ir_version = max(proto.ir_version, 4)
    made.opset_import.extend(proto.opset_import)
    made.functions.extend(proto.functions)
    made.graph.name = proto.graph.name or "graph"
    made.graph.input.extend(proto.graph.input)
    made.graph.output.extend(outputs)
    made.graph.node.extend(nodes)
    made.graph.sparse_initializer.extend(proto.graph.sparse_initializer)
    used = {name for node in nodes for name in node.input} | {value.name for value in outputs} | _captured(nodes)
    inputs = {value.name for value in proto.graph.input}
    made.graph.initializer.extend(
        tensor for tensor in (*proto.graph.initializer, *weights, *limits()) if tensor.name in used | inputs
    )
    return made


def _captured(nodes: list[Any]) -> set[str]:
    """Names that graphs inside the nodes take from outside."""
    found = set()
    for node in nodes:
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                if inner.node or inner.output:
                    for graph in graphs(inner):
                        found |= {name for one in graph.node for name in one.input}
                        found |= {value.name for value in graph.output}
    return found
