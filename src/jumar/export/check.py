"""What a check of a model is, and how all of them are run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from jumar.core import discover
from jumar.core.finding import Finding, Level, Where
from jumar.export import graph, model
from jumar.export.graph import Node, View
from jumar.tables import atc

NAMES = 3
"""How many nodes a finding names."""


class Check(NamedTuple):
    """The declaration that every module in `jumar.export.checks` has as `CHECK`."""

    id: str
    name: str
    summary: str


@dataclass(frozen=True)
class Subject:
    """A model to look at, where it lies, and the chip it is for."""

    path: Path
    view: View
    external: tuple[model.External, ...] = ()
    family: str = ""
    """Family of the chip as in chips.toml; empty if none was named."""
    bfloat16: bool | None = None

    @property
    def fixing(self) -> str:
        """The command that rewrites the model, for the text of a fix."""
        return f"`jumar export check {self.path} --fix -o OUT.onnx`"

    def finding(self, check: Check, level: Level, message: str, fix: str | None = None, subject: str = "") -> Finding:
        where = Where(str(self.path))
        return Finding(check.id, level, message, where, fix, doc=check.name, subject=subject)


class Unit(NamedTuple):
    check: Check
    run: Callable[[Subject], Iterable[Finding]]


_ORDER = {Level.ERROR: 0, Level.WARNING: 1, Level.NOTE: 2}


def units() -> list[Unit]:
    """All checks by id."""
    return [Unit(module.CHECK, module.run) for module in discover.units("jumar.export.checks", "CHECK")]


def chosen(only: Iterable[str], skip: Iterable[str]) -> list[Unit]:
    """The checks that a user wants, by id or name."""
    return discover.choose(units(), lambda unit: unit.check, only, skip, "`--list` shows them")


def read(path: Path) -> tuple[View, tuple[model.External, ...]]:
    """A model file as the checks see it: without the data of its weights."""
    proto = model.read(path)
    external = tuple(model.external(proto, path.parent))
    model.lighten(proto)
    return graph.view(proto), external


def run(subject: Subject, chosen_units: Iterable[Unit]) -> list[Finding]:
    """What the checks find, errors first."""
    found = [item for unit in chosen_units for item in unit.run(subject)]
    return sorted(found, key=lambda item: (_ORDER[item.level], item.id, item.subject))


def by_operator(nodes: Iterable[Node]) -> dict[str, list[Node]]:
    found: dict[str, list[Node]] = {}
    for node in nodes:
        found.setdefault(node.proto.op_type, []).append(node)
    return dict(sorted(found.items()))


def named(nodes: list[Node]) -> str:
    """`3 nodes: a, b, c`, with the first few by name."""
    names = ", ".join(f"`{node.label}`" for node in nodes[:NAMES])
    more = ", …" if len(nodes) > NAMES else ""
    return f"{len(nodes)} node{'' if len(nodes) == 1 else 's'}: {names}{more}"


def own(view: View) -> Iterator[Node]:
    """The nodes of ONNX's own domain."""
    return (node for node in view.nodes if node.proto.domain in graph.OWN)


class Operator(NamedTuple):
    """One operator of a model, and what ATC's parsers say of it."""

    name: str
    nodes: int
    state: str
    """parsed, opset (not at this one), missing or foreign (of another domain)."""


def operators(view: View) -> list[Operator]:
    """All operators, those that ATC refuses first."""
    found: dict[tuple[str, str], int] = {}
    for node in view.nodes:
        key = "" if node.proto.domain in graph.OWN else node.proto.domain, node.proto.op_type
        found[key] = found.get(key, 0) + 1
    rows = [
        Operator(f"{domain}::{name}" if domain else name, count, _state(domain, name, view.opset))
        for (domain, name), count in found.items()
    ]
    return sorted(rows, key=lambda row: (row.state == "parsed", -row.nodes, row.name))


def _state(domain: str, name: str, opset: int) -> str:
    if domain:
        return "foreign"
    if name in atc.options()["bypass"] or atc.is_parsed(name, opset):
        return "parsed"
    return "opset" if name in atc.parsed() else "missing"


def document(view: View) -> dict[str, Any]:
    """The model in a few fields, for `--json`."""
    return {
        "opset": view.opset,
        "nodes": len(view.nodes),
        "operators": {name: len(nodes) for name, nodes in by_operator(view.nodes).items()},
        "inputs": [{"name": row.name, "type": row.type.element, "shape": row.type.shape} for row in view.inputs],
        "outputs": [{"name": row.name, "type": row.type.element, "shape": row.type.shape} for row in view.outputs],
    }
