"""Operators for which ATC registers no parser at any opset."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.core.finding import Finding, Level
from jumar.core.nearest import nearest
from jumar.export.check import Check, Subject, by_operator, named, own
from jumar.tables import atc

CHECK = Check("EX102", "operator-not-parsed", "every operator has a parser in ATC")


def run(subject: Subject) -> Iterator[Finding]:
    bypass = atc.options()["bypass"]
    for operator, nodes in by_operator(own(subject.view)).items():
        if operator in atc.parsed() or operator in bypass:
            continue
        fix = atc.note(operator)
        if fix is None:
            close = nearest(operator, atc.parsed(), 0.7)
            fix = "write it with other operators before the export" + (f"; ATC knows `{close}`" if close else "")
        message = f"`{operator}` has no parser in ATC at any opset ({named(nodes)})"
        yield subject.finding(CHECK, Level.ERROR, message, fix, operator)
