"""What ONNX's own checker and shape inference say."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.core.finding import Finding, Level
from jumar.export.check import Check, Subject
from jumar.export.model import SMALL, first_line, onnx

CHECK = Check("EX113", "invalid-model", "ONNX's own checker accepts the model")


def run(subject: Subject) -> Iterator[Finding]:
    trouble = _checked(subject)
    if trouble:
        yield subject.finding(CHECK, Level.ERROR, f"ONNX's checker: {trouble}", "export the model again")
    elif subject.view.trouble:
        message = f"shapes cannot be inferred, so some checks saw less: {subject.view.trouble}"
        yield subject.finding(CHECK, Level.WARNING, message, "export the model again, or fix its shapes")


def _checked(subject: Subject) -> str:
    """The checker wants the data of every tensor; where it was dropped, a node at a time is checked instead."""
    package = onnx()
    model = subject.view.model
    context = package.checker.C.CheckerContext()
    context.ir_version = model.ir_version
    context.opset_imports = {entry.domain: entry.version for entry in model.opset_import}
    functions = {(function.domain, function.name) for function in model.functions}
    try:
        for node in subject.view.nodes:
            proto = node.proto
            inner = any(attribute.g.node or attribute.graphs for attribute in proto.attribute)
            large = any(attribute.HasField("t") for attribute in proto.attribute) and proto.ByteSize() < SMALL
            foreign = (proto.domain, proto.op_type) in functions
            if not inner and not large and not foreign and proto.op_type != "Constant":
                package.checker.check_node(proto, context)
    except Exception as error:
        return first_line(error)
    return _twice(model)


def _twice(model: object) -> str:
    seen: set[str] = set()
    for node in model.graph.node:  # type: ignore[attr-defined]
        for output in node.output:
            if output in seen:
                return f"value `{output}` is written twice"
            if output:
                seen.add(output)
    return ""
