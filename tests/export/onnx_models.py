"""Builders of small models for the tests of `jumar export`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

onnx = pytest.importorskip("onnx", reason="needs the extra `export`")
pytest.importorskip("onnxruntime", reason="needs the extra `export`")


def graph_model(
    nodes: list[Any], inputs: list[Any], outputs: list[Any], weights: Sequence[Any] = (), opset: int = 17, **more: Any
) -> Any:
    graph = onnx.helper.make_graph(nodes, "g", inputs, outputs, list(weights))
    domains = {"": opset, **dict.fromkeys(more.pop("domains", []), 1)}
    imports = [onnx.helper.make_opsetid(name, version) for name, version in domains.items()]
    return onnx.helper.make_model(graph, opset_imports=imports, ir_version=8, **more)


def node(operator: str, inputs: list[str], outputs: list[str], name: str | None = None, **more: Any) -> Any:
    return onnx.helper.make_node(operator, inputs, outputs, name=f"n_{outputs[0]}" if name is None else name, **more)


def value(name: str, shape: list[Any], kind: str = "FLOAT") -> Any:
    return onnx.helper.make_tensor_value_info(name, getattr(onnx.TensorProto, kind), shape)


def weight(name: str, values: Any) -> Any:
    import numpy

    return onnx.numpy_helper.from_array(numpy.asarray(values, dtype="float32"), name)


def tiny(*, opset: int = 17, batch: Any = 1, size: Any = 8, scale: float = 1.0) -> Any:
    """A picture of `size` pixels through a convolution to four numbers."""
    import numpy

    source = numpy.random.default_rng(1)
    nodes = [
        node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]),
        node("Relu", ["a"], ["b"]),
        node("GlobalAveragePool", ["b"], ["c"]),
        node("Flatten", ["c"], ["d"]),
        node("Gemm", ["d", "v"], ["y"]),
    ]
    weights = [
        weight("w", source.standard_normal((5, 3, 3, 3)) * scale),
        weight("v", source.standard_normal((5, 4)) / scale),
    ]
    return graph_model(nodes, [value("x", [batch, 3, size, size])], [value("y", [batch, 4])], weights, opset)
