"""Operators of other domains: ATC's parsers are registered for ONNX's own."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.core.finding import Finding, Level
from jumar.export.check import Check, Subject, by_operator, named
from jumar.export.graph import OWN

CHECK = Check("EX104", "foreign-domain", "every operator is of a domain that ATC knows")


def run(subject: Subject) -> Iterator[Finding]:
    functions = {(function.domain, function.name) for function in subject.view.model.functions}
    foreign = [
        node
        for node in subject.view.nodes
        if node.proto.domain not in OWN and (node.proto.domain, node.proto.op_type) not in functions
    ]
    for operator, nodes in by_operator(foreign).items():
        domain = nodes[0].proto.domain
        message = f"`{domain}::{operator}` is of a domain without parsers in ATC ({named(nodes)})"
        fix = "use the model from before a runtime optimised it, or register a custom operator with ATC"
        if domain.startswith("com.microsoft"):
            fix = "it was written by ONNX Runtime's optimizer or quantizer: use the model from before that"
        yield subject.finding(CHECK, Level.ERROR, message, fix, f"{domain}::{operator}")
