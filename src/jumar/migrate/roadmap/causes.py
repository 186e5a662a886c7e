"""Which findings have one root cause, what it does to the project, and what to do about it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import NamedTuple

from jumar.core.finding import Finding, State
from jumar.migrate.roadmap.result import Kind
from jumar.tables import effort, third_party

_KINDS = {
    State.UNSUPPORTED: Kind.BLOCKS,
    State.HAND: Kind.BLOCKS,
    State.FALLBACK: Kind.SPEED,
    State.REWRITTEN: Kind.BLOCKS,
}


_DEPTH = 3
"""Folders from the top that tell one part of a project from another."""


_BUILD = re.compile(r"_(?:cu\d+|cuda\d*x?|full)$")
"""How a project is called on an index where its wheels are built for one version of CUDA: `cuml-cu11`, `mmcv-full`."""


class Cause(NamedTuple):
    key: str
    title: str
    kind: Kind
    work: str
    """The row of the effort table."""
    todo: str


def causes(findings: Iterable[Finding], summaries: dict[str, str], root: str) -> dict[Cause, list[Finding]]:
    """The findings by cause, without those that concern nobody; `summaries` says what each rule finds."""
    found: dict[str, tuple[Cause, list[Finding]]] = {}
    for item in findings:
        if item.state in (None, State.BENIGN):
            continue
        cause = of(item, summaries, root)
        known = found.setdefault(cause.key, (cause, []))
        known[1].append(item)
        if _order(cause) < _order(known[0]):
            found[cause.key] = (cause, known[1])
    return dict(found.values())


def of(item: Finding, summaries: dict[str, str], root: str = ".") -> Cause:
    """The cause of one finding of the project below `root`."""
    row = effort.cause(item.id)
    is_made = item.state is State.REWRITTEN
    kind = Kind(row.kinds.get(item.state.value, "")) if item.state and item.state.value in row.kinds else None
    if kind is None:
        kind = _KINDS[item.state] if item.state is not None else Kind.UNCLEAR
    by = "rule" if is_made else row.by
    package = _package(item.subject) if by == "package" else ""
    if by == "package" and not package:
        by = "subject"
    name = {"package": package, "subject": item.subject, "rule": "", "folder": _folder(item, root)}[by] or ""
    title = _title(item, "" if is_made or by == "package" else row.title, by, name, summaries)
    work = "review" if is_made else row.work
    # A package is one cause, whether code imports it or a requirement file names it; so are the kernels of a folder.
    shared = by in ("package", "folder")
    key = f"{by} {name}" if shared else f"{item.id} {'made' if is_made else kind.value} {name}"
    todo = "review the diff of `jumar migrate`" if is_made else row.todo or item.fix or _advice(item)
    return Cause(key, title, kind, work, todo)


def _advice(item: Finding) -> str:
    """Where a finding has no fix, its message says what to do behind the name."""
    return item.message.partition(": ")[2] or f"see `jumar explain {item.id}`"


def _order(cause: Cause) -> tuple[int, int]:
    return list(Kind).index(cause.kind), -len(cause.todo)


def _title(item: Finding, title: str, by: str, name: str, summaries: dict[str, str]) -> str:
    if by == "package":
        return f"the package `{name}` has parts that need CUDA"
    if title:
        return title.replace("{}", f"`{name}`" if name else "CUDA")
    summary = summaries.get(item.id, item.doc or item.id)
    return f"`{name}`: {summary}" if name else summary


def _package(subject: str) -> str:
    """The package that a name belongs to; empty when the tables do not know it."""
    top = re.split(r"[.\[<>=~! ]", subject, maxsplit=1)[0].replace("-", "_")
    top = _BUILD.sub("", top)
    known = {root.lower(): root for root in third_party.roots() if root != "cuda"}
    return known.get(top.lower(), "")


def _folder(item: Finding, root: str) -> str:
    """The folder of a part of the project: sources of one extension often lie in several below it."""
    if item.where is None:
        return ""
    parts = os.path.relpath(os.path.dirname(item.where.path) or ".", root).split(os.sep)
    return "/".join(parts[:_DEPTH])
