"""The one JSON shape of a run; `docs/reference/json.md` describes it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from jumar import __version__
from jumar.core.diff import unified
from jumar.core.errors import UserError
from jumar.core.finding import Finding, State
from jumar.core.printable import in_json
from jumar.migrate.result import FileResult, ProjectResult

if TYPE_CHECKING:
    from jumar.migrate.roadmap.baseline import Checked

VERSION = 1
"""Raised when a field changes its meaning or goes; new fields do not count."""

FIELDS = {
    "version": "version of this shape; raised when a field changes its meaning or is removed",
    "tool.name": "`jumar`",
    "tool.version": "version of Jumar",
    "kind": "`analyze` or `migrate`: what the document is",
    "settings.to": "style of the output",
    "settings.torch": "torch on the target",
    "settings.chip": "chip of the target",
    "settings.unsafe": "whether changes that need a review were included",
    "settings.multi_card": "whether the script was turned into one for many cards",
    "settings.sharded": "whether that splits the model over the cards (FSDP) instead of copying it to each",
    "settings.only": "ids of the only rules that were used; empty for all",
    "settings.skip": "ids of rules that were left out",
    "settings.from_project": "keys of the project's `jumar.toml` that were in force",
    "summary.root": "the project: the folder that all paths have in common",
    "summary.scanned": "files read",
    "summary.lines": "lines read",
    "summary.seconds": "wall-clock time",
    "summary.changed": "files that change",
    "summary.new_files": "paths of files that the result needs and that are not there yet",
    "summary.states": "number of sites by state",
    "summary.left": "places that need a hand",
    "summary.supports_ascend": "a place that shows that the project already supports NPUs",
    "summary.skipped[].path": "a skipped path",
    "summary.skipped[].reason": "why",
    "files[].path": "a file with findings or changes, as reached from the paths you gave",
    "files[].changed": "does it change?",
    "files[].states": "number of its sites by state",
    "files[].diff": "its unified diff (`migrate` only, changed files only)",
    "findings[].id": "id of the rule, for `jumar explain`",
    "findings[].level": "`error`, `warning` or `note`",
    "findings[].state": "`rewritten`, `needs a hand`, `unsupported`, `falls back` or `benign`",
    "findings[].message": "what was found, in one line",
    "findings[].where.path": "the file; `where` is null for findings without a file",
    "findings[].where.line": "line from 1; 0 for the file as a whole",
    "findings[].where.col": "column from 1, in characters",
    "findings[].where.end_line": "last line",
    "findings[].where.end_col": "column after the last character",
    "findings[].fix": "what to do, or null",
    "findings[].safety": "`safe` (made by `--write`), `ask` (also needs `--unsafe`) or `show` (only reported)",
    "findings[].doc": "name of the rule, or null",
    "findings[].subject": "the API, variable or package in question, or null",
    "notes": "what to know beside the findings, such as settings of the project that were ignored",
    "errors[].message": "why the work could not be done; the exit code is then 2",
    "errors[].hint": "what to do next, or null",
}
"""Every field that can appear, for the reference page; a test compares it with what is written."""


BASELINE_FIELDS = {
    "baseline.known": "findings that the baseline knows (with `--baseline`; `findings` holds the others)",
    "baseline.new": "findings that it does not know",
    "baseline.stale[].path": "a file with a known finding that is gone",
    "baseline.stale[].id": "its rule",
    "baseline.stale[].subject": "its API, variable or package, or null",
}
"""What `--baseline` adds."""


def render(result: ProjectResult, *, diff: bool = True) -> str:
    """A migration's result as one document."""
    return dump(migration(result, diff=diff))


def migration(result: ProjectResult, *, diff: bool = True) -> dict[str, Any]:
    """The fields of a migration's result."""
    return {
        "kind": "migrate" if diff else "analyze",
        "settings": settings(result),
        "summary": summary(result),
        "files": [_file(file, diff) for file in result.files],
        "findings": [finding(item) for item in result.findings()],
        "notes": list(result.notes),
        "errors": [],
    }


def baseline(result: ProjectResult, checked: Checked) -> dict[str, Any]:
    """The fields of a run that was compared with a baseline: `findings` are then the new ones."""
    new = set(map(id, checked.new))
    return {
        "findings": [finding(item) for item in result.findings() if item.state is None or id(item) in new],
        "baseline": {
            "known": checked.known,
            "new": len(checked.new),
            "stale": [{"path": one.path, "id": one.id, "subject": one.subject or None} for one in checked.stale],
        },
    }


def render_error(error: UserError) -> str:
    """A failed run: the same document with nothing but errors."""
    return dump({"findings": [], "errors": [{"message": error.message, "hint": error.hint}]})


def dump(fields: dict[str, Any]) -> str:
    """Any document of ours as text."""
    return text(document(fields))


def document(fields: dict[str, Any]) -> dict[str, Any]:
    """Any document of ours: the version and the tool come first."""
    return {"version": VERSION, "tool": {"name": "jumar", "version": __version__}} | fields


def text(whole: dict[str, Any]) -> str:
    """A whole document, as every command prints it."""
    return in_json(json.dumps(whole, indent=2, ensure_ascii=False))


def settings(result: ProjectResult) -> dict[str, Any]:
    chosen = result.settings
    return {
        "to": chosen.to.value,
        "torch": chosen.torch,
        "chip": chosen.chip,
        "unsafe": chosen.unsafe,
        "multi_card": chosen.multi_card,
        "sharded": chosen.sharded,
        "only": sorted(chosen.only),
        "skip": sorted(chosen.skip),
        "from_project": list(result.from_project),
    }


def summary(result: ProjectResult) -> dict[str, Any]:
    states = result.states()
    return {
        "root": result.root,
        "scanned": result.scanned,
        "lines": result.lines,
        "seconds": round(result.seconds, 3),
        "changed": sum(file.changed for file in result.files),
        "new_files": sorted(result.new_files()),
        "states": {state.value: states[state] for state in State},
        "left": result.left(),
        "supports_ascend": [f"{where.path}:{where.line}" for where in result.supports_ascend],
        "skipped": [{"path": skipped.path, "reason": skipped.reason} for skipped in result.skipped],
    }


def finding(item: Finding) -> dict[str, Any]:
    where = item.where
    return {
        "id": item.id,
        "level": item.level.value,
        "state": item.state.value if item.state else None,
        "message": item.message,
        "where": None
        if where is None
        else {
            "path": where.path,
            "line": where.line,
            "col": where.col,
            "end_line": where.end_line,
            "end_col": where.end_col,
        },
        "fix": item.fix,
        "safety": item.safety.value,
        "doc": item.doc,
        "subject": item.subject or None,
    }


def _file(file: FileResult, diff: bool) -> dict[str, Any]:
    fields: dict[str, Any] = {"path": file.path, "changed": file.changed, "states": _states(file.findings)}
    if diff and file.changed:
        fields["diff"] = unified(file.path, file.before, file.after).decode("utf-8", "replace")
    return fields


def _states(findings: Iterable[Finding]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for item in findings:
        if item.state is not None:
            counts[item.state.value] = counts.get(item.state.value, 0) + 1
    return counts
