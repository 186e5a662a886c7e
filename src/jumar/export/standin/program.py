"""A model that is loaded and can be executed, as a device would hold an `.om`: inputs, gears, precision, AIPP."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from jumar.core.compat import zip
from jumar.core.errors import UserError
from jumar.export import aipp, graph, half, model
from jumar.export.execute import Session, dtype
from jumar.export.shapes import Range, Shape
from jumar.export.standin import images, om
from jumar.tables import atc, socs

OUTPUTS = {
    "FP32": "float32", "FP16": "float16", "DOUBLE": "float64", "INT8": "int8", "INT16": "int16", "INT32": "int32",
    "INT64": "int64", "UINT8": "uint8", "UINT16": "uint16", "UINT32": "uint32", "UINT64": "uint64",
}  # fmt: skip


class Port(NamedTuple):
    """An input or output; -1 stands for an axis that a gear or the caller sets."""

    name: str
    dtype: str
    shape: tuple[int, ...]


@dataclass
class Program:
    inputs: list[Port]
    outputs: list[Port]
    mode: str
    gears: tuple[tuple[int, ...], ...]
    shapes: dict[str, Shape]
    steps: dict[int, aipp.AippStep]
    session: Session
    cast: str | None
    halves: frozenset[str] = frozenset()
    """Inputs that come as float16."""
    last: tuple[tuple[int, ...], ...] = ()
    """Shapes of the outputs of the last run."""

    def at(self, gear: Sequence[int]) -> list[tuple[int, ...]]:
        """The shapes of the inputs with a gear put in."""
        values = list(gear)
        found = []
        for index, port in enumerate(self.inputs):
            source = values if self.mode == "dims" else list(values)
            shape = self.shapes[port.name]
            row = tuple(
                dim.low if isinstance(dim, Range) else dim if dim >= 0 else source.pop(0) if source else 1
                for dim in shape
            )
            found.append(images.source_shape(self.steps[index], row) if index in self.steps else row)
        return found

    def largest(self) -> tuple[int, ...]:
        """The gear that a device takes when none is set."""
        return max(self.gears, default=(), key=lambda gear: _size(gear))

    def execute(self, feeds: Sequence[Any]) -> list[Any]:
        """Outputs for inputs that have the right types and shapes."""
        import numpy

        if len(feeds) != len(self.inputs):
            raise UserError(f"the model has {len(self.inputs)} inputs, {len(feeds)} were given")
        ready = {}
        for index, (port, value) in enumerate(zip(self.inputs, feeds, strict=True)):
            value = numpy.ascontiguousarray(value)
            if index in self.steps:
                ready[port.name] = images.prepared(self.steps[index], value, self.shapes[port.name])
                continue
            _fits(port, value, self.shapes[port.name])
            ready[port.name] = value.astype("float32") if port.name in self.halves else value
        found = self.session.run(ready)
        self.last = tuple(value.shape for value in found)
        return [value.astype(self.cast) if self.cast else value for value in found]


def load(path: Path) -> Program:
    """A program from an `.om` stand-in, or straight from an ONNX file in its own precision."""
    if path.suffix == ".onnx":
        proto = model.whole(path)
        shapes = {row.name: _own(row) for row in graph.inputs(proto)}
        return _program(proto, shapes, "range", (), (), half.Policy("none"), None)
    return of(om.load(path))


def of(offline: om.Offline) -> Program:
    """A program from a stand-in that was read."""
    proto = model.parse(offline.onnx, offline.name)
    effect = atc.precisions()[offline.precision][1] if offline.precision in atc.precisions() else "half"
    if effect == "unknown":
        raise UserError(f"the stand-in does not compute in `{offline.precision}`", "convert it with another mode")
    policy = half.Policy(effect, named(offline.kept, proto), saturates(offline.soc))
    steps = tuple(aipp.parse(_text(values), offline.name)[0] for values in offline.steps)
    cast = OUTPUTS.get(offline.output_type or "")
    program = _program(proto, offline.shapes, offline.mode, offline.gears, steps, policy, cast)
    program.halves = frozenset(offline.half_inputs)
    program.inputs = [row._replace(dtype="float16") if row.name in program.halves else row for row in program.inputs]
    return program


def saturates(soc: str) -> bool:
    """Does the chip clamp what is too large for float16, as those without an inf/nan mode do?"""
    return not socs.socs().get(soc, {}).get("inf_nan", True)


def named(kept: Sequence[str], proto: Any) -> frozenset[str]:
    """The nodes of a keep-dtype list; `OpType::X` means all nodes of that operator."""
    types = {name.removeprefix("OpType::") for name in kept if name.startswith("OpType::")}
    names = {name for name in kept if not name.startswith("OpType::")}
    return frozenset(names | {node.name for node in proto.graph.node if node.op_type in types and node.name})


def _program(
    proto: Any, shapes: dict[str, Shape], mode: str, gears: tuple[tuple[int, ...], ...],
    steps: tuple[aipp.AippStep, ...],
    policy: half.Policy, cast: str | None,
) -> Program:  # fmt: skip
    rows = graph.inputs(proto)
    if [row.name for row in rows] != list(shapes):
        raise UserError("the shapes are not those of the model's inputs")
    view = graph.view(proto)
    if policy.effect != "none":
        proto = half.rewritten(proto, view.types, policy)
    # An optimizer may drop a pair of casts, which is the rounding itself.
    session = Session(proto.SerializeToString(), optimize=policy.effect == "none")
    by_index = {step.input_index: step for step in steps}
    for step in steps:
        if not step.is_static:
            raise UserError("the stand-in supports static AIPP only")
    inputs = [
        Port(row.name, "uint8" if number in by_index else dtype(row.type.element), _numbers(shapes[row.name]))
        for number, row in enumerate(rows)
    ]
    inputs = [
        port._replace(shape=images.source_shape(by_index[number], port.shape)) if number in by_index else port
        for number, port in enumerate(inputs)
    ]
    program = Program(inputs, [], mode, gears, shapes, by_index, session, cast)
    program.outputs = _outputs(program, view, shapes, proto)
    return program


def _outputs(program: Program, view: graph.View, shapes: dict[str, Shape], proto: Any) -> list[Port]:
    """Types and shapes of the outputs, with the shapes of the inputs put in."""
    fixed = model.onnx().ModelProto()
    fixed.CopyFrom(proto)
    numbers = dict(zip((port.name for port in program.inputs), program.at(program.largest()), strict=True))
    for value in fixed.graph.input:
        if value.name in shapes and all(isinstance(dim, int) for dim in shapes[value.name]):
            dims = shapes[value.name]
            row = [dim if isinstance(dim, int) and dim >= 0 else at for dim, at in zip(dims, numbers[value.name])]
            value.type.tensor_type.shape.ClearField("dim")
            for dim in row:
                value.type.tensor_type.shape.dim.add().dim_value = dim
    del fixed.graph.value_info[:]
    for value in fixed.graph.output:
        if value.type.WhichOneof("value") == "tensor_type":
            value.type.tensor_type.ClearField("shape")
    model.lighten(fixed)
    rows = graph.view(fixed).outputs
    return [
        Port(
            row.name,
            program.cast or dtype(row.type.element),
            tuple(dim if isinstance(dim, int) else -1 for dim in row.type.shape or ()),
        )
        for row in rows
    ]


def _fits(port: Port, value: Any, shape: Shape) -> None:
    if str(value.dtype) != port.dtype:
        raise UserError(f"input `{port.name}` is {port.dtype}, {value.dtype} was given")
    fits = len(value.shape) == len(shape) and all(
        (wanted.low <= given <= wanted.high) if isinstance(wanted, Range) else wanted in (-1, given)
        for given, wanted in zip(value.shape, shape)
    )
    if not fits:
        wanted = ",".join(str(dim) for dim in shape)
        raise UserError(f"input `{port.name}` has shape {wanted}, {','.join(map(str, value.shape))} was given")


def _numbers(shape: Shape) -> tuple[int, ...]:
    return tuple(-1 if isinstance(dim, Range) else dim for dim in shape)


def _own(row: graph.Input) -> Shape:
    return tuple(dim if isinstance(dim, int) and dim >= 0 else -1 for dim in row.type.shape or ())


def _text(values: dict[str, Any]) -> str:
    words = " ".join(f"{key}: {json.dumps(value).strip(chr(34))}" for key, value in values.items() if value != "")
    return f"aipp_op {{ {words} }}"


def _size(gear: Sequence[int]) -> int:
    total = 1
    for number in gear:
        total *= number
    return total
