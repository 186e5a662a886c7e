"""Known findings of a project: a file that is kept with it, so that only new findings fail a check.

An entry says what was found and in which text, not at which line: code that moves stays known.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from jumar.core.errors import UserError
from jumar.core.finding import Finding, State
from jumar.core.read import decoded
from jumar.migrate.result import FileResult, ProjectResult

VERSION = 1


class Entry(NamedTuple):
    path: str
    id: str
    subject: str
    text: str
    """A digest of the line as it stands in the file, without spaces around it."""


class Checked(NamedTuple):
    """What a baseline says about a run."""

    new: tuple[Finding, ...]
    known: int
    stale: tuple[Entry, ...]
    """Entries that nothing fits any more: they can go."""


def entries(result: ProjectResult) -> list[tuple[Entry, Finding]]:
    """The findings that are left for a person or that would be changed, each with its entry."""
    found = []
    for file in result.files:
        lines = file.before.decode("utf-8", "replace").splitlines()
        found += [(_entry(item, file, lines, result.root), item) for item in file.findings if _counts(item)]
    return found


def render(result: ProjectResult) -> str:
    """The file's text: one row for each entry, sorted, so that a diff shows what changed."""
    counted = Counter(entry for entry, _ in entries(result))
    rows = [json.dumps([*entry, count], ensure_ascii=False) for entry, count in sorted(counted.items())]
    body = ",\n  ".join(rows)
    columns = json.dumps(["path", "id", "subject", "text", "count"])
    known = f"[\n  {body}\n ]" if rows else "[]"
    return f'{{\n "jumar_baseline": {VERSION},\n "columns": {columns},\n "known": {known}\n}}\n'


def parse(text: str, name: str) -> Counter[Entry]:
    try:
        whole = decoded(text)
        version = whole["jumar_baseline"]
        known = Counter({Entry(*map(str, row[:4])): int(row[4]) for row in whole["known"]})
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise UserError(
            f"`{name}` is not a baseline of Jumar", "write a new one: `jumar analyze . --write-baseline FILE`"
        ) from error
    if version != VERSION:
        raise UserError(f"`{name}` is a baseline of version {version}", "write a new one with this version of Jumar")
    return known


def check(result: ProjectResult, known: Counter[Entry]) -> Checked:
    """Which findings are new. A second place like a known one is new; a known one that moved is not."""
    left = Counter(known)
    new, count = [], 0
    for entry, item in entries(result):
        if left[entry] > 0:
            left[entry] -= 1
            count += 1
        else:
            new.append(item)
    return Checked(tuple(new), count, tuple(sorted(entry for entry, number in left.items() if number > 0)))


def _counts(item: Finding) -> bool:
    return item.state not in (None, State.BENIGN)


def _entry(item: Finding, file: FileResult, lines: Sequence[str], root: str) -> Entry:
    path = os.path.relpath(file.path, root).replace(os.sep, "/")
    number = item.where.line if item.where is not None else 0
    text = lines[number - 1].strip() if 0 < number <= len(lines) else ""
    return Entry(path, item.id, item.subject, hashlib.sha256(text.encode()).hexdigest()[:16] if text else "")
