"""The check of a model as one page: what ATC refuses, operators with their parsers, inputs and outputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from jumar import __version__
from jumar.core.finding import Finding, Level
from jumar.report.html import environment

if TYPE_CHECKING:
    from jumar.export.check import Operator
    from jumar.export.graph import Input, View

STATES = {
    "parsed": ("rewritten", "parsed"),
    "opset": ("hand", "not at this opset"),
    "missing": ("unsupported", "no parser"),
    "foreign": ("fallback", "another domain"),
}
LEVELS = {Level.ERROR: "unsupported", Level.WARNING: "hand", Level.NOTE: "benign"}
MAX_PORTS = 200


def render(path: str, view: View, rows: Sequence[Operator], found: Sequence[Finding], done: Sequence[str]) -> str:
    counts: Counter[str] = Counter()
    for row in rows:
        counts[row.state] += row.nodes
    return (
        environment()
        .get_template("export.html")
        .render(
            path=path,
            opset=view.opset,
            nodes=len(view.nodes),
            bar=[(*STATES[state], counts[state]) for state in STATES if counts[state]],
            operators=[(row, *STATES[row.state]) for row in rows],
            found=[(row, LEVELS[row.level]) for row in found],
            ports=[("input", _port(row)) for row in view.inputs[:MAX_PORTS]]
            + [("output", _port(row)) for row in view.outputs[:MAX_PORTS]],
            more=max(0, len(view.inputs) - MAX_PORTS) + max(0, len(view.outputs) - MAX_PORTS),
            done=done,
            version=__version__,
        )
    )


def _port(row: Input) -> tuple[str, str, str]:
    shape = row.type.shape
    return row.name, row.type.element, "not known" if shape is None else ", ".join(map(str, shape)) or "scalar"
