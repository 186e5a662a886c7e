"""Findings that are true and tell nobody anything: they become benign, with the reason.

A rule itself says which of its findings are noise, by its function `noise`. Here is what holds for all rules: entries
of a tokenizer's vocabulary, and the second and every further mention of a package in one file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from jumar.core.compat import zip
from jumar.core.finding import Finding, Level, Safety, State
from jumar.migrate import rule
from jumar.migrate.around import Place, Surroundings
from jumar.migrate.names import Index
from jumar.migrate.result import FileResult
from jumar.migrate.settings import Settings
from jumar.tables import effort

_LEFT = (State.HAND, State.UNSUPPORTED, State.FALLBACK)
_VOCABULARIES = re.compile(r"(^|/)(vocab|tokenizer|merges|added_tokens|special_tokens_map|.*[_-]vocab)\.(json|txt)$")
_PART = re.compile(r"nvidia-[a-z-]+-cu\d+")
"""A part of CUDA that the CUDA build of torch brings: a pinned list holds a dozen of them."""


def quiet(file: FileResult, index: Index | None, settings: Settings) -> FileResult:
    """The same with what is noise made benign; `index` is the syntax of a Python file."""
    if not any(finding.state in _LEFT for finding in file.findings):
        return file
    reasons = _reasons(file, index, settings)
    findings = [_benign(finding, reason) for finding, reason in zip(file.findings, reasons, strict=True)]
    return replace(file, findings=tuple(_once(findings)))


def _reasons(file: FileResult, index: Index | None, settings: Settings) -> Iterator[str]:
    """Why each finding is noise; empty for one that is not."""
    is_vocabulary = bool(_VOCABULARIES.search(file.path))
    surroundings = Surroundings(file.path, file.before, index if file.path.endswith(".py") else None)
    for finding in file.findings:
        if finding.state not in _LEFT or finding.where is None:
            yield ""
        elif is_vocabulary:
            yield "an entry of a vocabulary"
        else:
            unit = rule.find(finding.id, settings)
            judge = unit.noise if unit is not None else None
            yield judge(finding, Place(surroundings, finding.where)) if judge is not None else ""


def _once(findings: list[Finding]) -> Iterator[Finding]:
    """A package that a file names many times is said once, with the number; another answer is another finding."""
    counts = Counter(answer for finding in findings if (answer := _answer(finding)) is not None)
    first: dict[tuple[str, ...], int] = {}
    for finding in findings:
        answer = _answer(finding)
        if answer is None or counts[answer] == 1:
            yield finding
        elif answer in first:
            yield _benign(finding, f"said at line {first[answer]}")
        else:
            first[answer] = finding.where.line if finding.where is not None else 0
            yield replace(finding, message=f"{finding.message} ({counts[answer]} places in this file)")


def _answer(finding: Finding) -> tuple[str, ...] | None:
    """What a finding says about which package; None for one that is about something else."""
    if finding.state not in _LEFT or not finding.subject or effort.cause(finding.id).by != "package":
        return None
    package = "nvidia" if _PART.match(finding.subject) else finding.subject.partition(".")[0]
    return finding.id, package, finding.state.value, finding.fix or ""


def _benign(finding: Finding, reason: str) -> Finding:
    """The finding with the reason why it is noise; without one it stays."""
    if not reason:
        return finding
    message = f"{finding.message} ({reason})"
    return replace(
        finding, level=Level.NOTE, message=message, state=State.BENIGN, safety=Safety.SHOW, edits=(), fix=None
    )
