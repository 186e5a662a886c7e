"""Operators that ATC parses, but not at the opset of this model."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.core.finding import Finding, Level
from jumar.export.check import Check, Subject, by_operator, named, own
from jumar.tables import atc

CHECK = Check("EX103", "operator-opset-not-parsed", "every operator is parsed at the opset of the model")


def run(subject: Subject) -> Iterator[Finding]:
    # A model out of the range is one finding already; here it counts as converted to the nearest opset.
    opset = min(max(subject.view.opset, atc.oldest_opset()), atc.newest_opset())
    for operator, nodes in by_operator(own(subject.view)).items():
        if operator not in atc.parsed() or atc.is_parsed(operator, opset):
            continue
        low, high = atc.parsed()[operator]
        message = f"`{operator}` is parsed at opset {low} to {high}, not at {opset} ({named(nodes)})"
        fix = f"{subject.fixing}, or export it again with opset {high}"
        yield subject.finding(CHECK, Level.ERROR, message, fix, operator)
