"""Values without elements: they compile to nothing or fail late."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.core.finding import Finding, Level
from jumar.export.check import Check, Subject
from jumar.export.graph import shown

CHECK = Check("EX111", "empty-dimension", "no value is empty")


def run(subject: Subject) -> Iterator[Finding]:
    optional = {name for node in subject.view.nodes if node.proto.op_type == "Resize" for name in node.proto.input[1:3]}
    empty = [
        (name, type_)
        for name, type_ in subject.view.types.items()
        if type_.shape and 0 in type_.shape and name not in optional
    ]
    if empty:
        name, type_ = empty[0]
        message = f"{len(empty)} value(s) without elements, such as `{name}` {shown(type_.shape)}"
        fix = "check the axis of 0: an empty slice or batch was exported"
        yield subject.finding(CHECK, Level.WARNING, message, fix, name)
