"""`# jumar: keep` on a line leaves that line alone."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable

from jumar.core.finding import Finding, Level, Safety, State
from jumar.core.source import Source

_KEEP = re.compile(rb"(?:#|//)[^\r\n]*?\bjumar:\s*keep\b")


def apply(source: Source, findings: Iterable[Finding]) -> list[Finding]:
    """Findings that touch a kept line lose their edits and become benign."""
    kept = kept_lines(source)
    if not kept:
        return list(findings)
    return [_keep(finding) if _touches(finding, kept) else finding for finding in findings]


def kept_lines(source: Source) -> frozenset[int]:
    """The 1-based lines that carry the mark."""
    if b"jumar:" not in source.data:
        return frozenset()
    return frozenset(source.line_of(match.start()) for match in _KEEP.finditer(source.data))


def _touches(finding: Finding, kept: frozenset[int]) -> bool:
    where = finding.where
    if where is None or not kept:
        return False
    return any(line in kept for line in range(where.line, max(where.line, where.end_line) + 1))


def _keep(finding: Finding) -> Finding:
    return dataclasses.replace(
        finding,
        level=Level.NOTE,
        message=f"{finding.message} (kept: `jumar: keep`)",
        state=State.BENIGN,
        safety=Safety.SHOW,
        edits=(),
        fix=None,
    )
