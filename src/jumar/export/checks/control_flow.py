"""Branches: ATC parses `If`, and compiles both sides; `Loop` and `Scan` are refused as operators."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.core.finding import Finding, Level
from jumar.export.check import Check, Subject, named, own

CHECK = Check("EX106", "control-flow", "the graph does not branch")


def run(subject: Subject) -> Iterator[Finding]:
    nodes = [node for node in own(subject.view) if node.proto.op_type == "If"]
    if nodes:
        message = f"`If` makes the graph dynamic ({named(nodes)})"
        fix = "fix the shapes that decide it at the export, or fold it with `onnxsim` if they are known"
        yield subject.finding(CHECK, Level.WARNING, message, fix, "If")
