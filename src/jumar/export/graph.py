"""A plain view of a model for the checks: its inputs, its nodes at every depth, and the types of its values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from jumar.export.model import first_line, onnx, opset

OWN = ("", "ai.onnx")
"""Names of ONNX's own domain."""


class Type(NamedTuple):
    """Type of a value; a dimension is a number, a name, or None; the shape itself may be unknown."""

    element: str
    shape: tuple[int | str | None, ...] | None


class Input(NamedTuple):
    name: str
    type: Type


class Node(NamedTuple):
    """A node, and the path of the graphs around it: empty in the main graph."""

    proto: Any
    scope: str

    @property
    def label(self) -> str:
        name = self.proto.name or next((f"-> {output}" for output in self.proto.output if output), "without a name")
        return f"{self.scope}{name}"


@dataclass(frozen=True)
class View:
    model: Any
    opset: int
    inputs: tuple[Input, ...]
    outputs: tuple[Input, ...]
    nodes: tuple[Node, ...]
    types: dict[str, Type] = field(repr=False)
    trouble: str = ""
    """Why the shapes could not be inferred."""


def view(model: Any) -> View:
    """The view of a model whose large data may have been dropped."""
    inferred, trouble = _inferred(model)
    return View(
        model=model,
        opset=opset(model),
        inputs=inputs(model),
        outputs=tuple(Input(value.name, _type(value)) for value in inferred.graph.output),
        nodes=(*_nodes(model.graph, ""), *_inside_functions(model)),
        types=_types(inferred),
        trouble=trouble,
    )


def inputs(model: Any) -> tuple[Input, ...]:
    """What a caller has to give: the inputs that no initializer fills."""
    weights = {tensor.name for tensor in model.graph.initializer}
    return tuple(Input(value.name, _type(value)) for value in model.graph.input if value.name not in weights)


def element_name(number: int) -> str:
    """Name of a data type, such as `FLOAT`; `type 99` for one that this onnx does not know."""
    try:
        return str(onnx().TensorProto.DataType.Name(number))
    except ValueError:
        return f"type {number}"


def shown(shape: tuple[int | str | None, ...] | None) -> str:
    if shape is None:
        return "of unknown rank"
    return "[" + ", ".join("?" if dim is None else str(dim) for dim in shape) + "]"


def _inferred(model: Any) -> tuple[Any, str]:
    try:
        return onnx().shape_inference.infer_shapes(model), ""
    except Exception as error:
        return model, first_line(error)


def _nodes(graph: Any, scope: str) -> Iterator[Node]:
    for node in graph.node:
        yield Node(node, scope)
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                if inner.node:
                    yield from _nodes(inner, f"{scope}{node.name or node.op_type}/{attribute.name}/")


def _inside_functions(model: Any) -> Iterator[Node]:
    for function in model.functions:
        for node in function.node:
            yield Node(node, f"{function.name}/")


def _types(model: Any) -> dict[str, Type]:
    graph = model.graph
    found = {value.name: _type(value) for value in (*graph.value_info, *graph.input, *graph.output)}
    for tensor in graph.initializer:
        found[tensor.name] = Type(element_name(tensor.data_type), tuple(tensor.dims))
    return found


def _type(value: Any) -> Type:
    kind = value.type.WhichOneof("value")
    if kind != "tensor_type":
        return Type(kind.removesuffix("_type") if kind else "unknown", None)
    tensor = value.type.tensor_type
    shape = tuple(_dim(dim) for dim in tensor.shape.dim) if tensor.HasField("shape") else None
    return Type(element_name(tensor.elem_type), shape)


def _dim(dim: Any) -> int | str | None:
    kind = dim.WhichOneof("value")
    if kind == "dim_value":
        return int(dim.dim_value)
    return str(dim.dim_param) if kind == "dim_param" and dim.dim_param else None
