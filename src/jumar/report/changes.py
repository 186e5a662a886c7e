"""The changes of a project for its page: files with their diffs, and the findings at their lines.

Large projects are cut, and the page says where: it must stay small enough for a mail and a slow browser.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup, escape

from jumar.core.compat import dataclass, zip
from jumar.core.diff import Hunk, Line, hunks
from jumar.core.finding import Finding, Level, State, Where
from jumar.report.text import count

if TYPE_CHECKING:
    from jumar.migrate.result import FileResult, ProjectResult

MAX_ROWS = 24_000
"""Lines of code on the page."""
MAX_FILE_ROWS = 1_200
MAX_FINDINGS = 12_000
MAX_LINE = 400
"""Characters of a line of code."""


@dataclass(slots=True)
class Row:
    """A line of code, or a gap between two stretches of code."""

    mark: str
    old: int | None
    new: int | None
    code: Markup
    findings: list[Finding] = field(default_factory=list)


@dataclass(slots=True)
class FileView:
    path: str
    changed: bool
    states: Counter[State]
    top: list[Finding] = field(default_factory=list)
    """Findings without a line that is shown."""
    rows: list[Row] = field(default_factory=list)
    cut: str = ""
    is_new: bool = False
    number: int = 0
    share: int = 100
    """Length of its bar in per cent: the file with most sites has 100."""

    @property
    def is_shown(self) -> bool:
        """Is there more to show than benign sites?"""
        return bool(self.rows or self.top or self.cut)


class Changed(NamedTuple):
    """A file of a project: its findings, and its code around given lines."""

    path: str
    changed: bool
    findings: Sequence[Finding]
    hunks: Callable[[Iterable[int]], list[Hunk]]


def of_result(result: ProjectResult) -> tuple[list[FileView], list[str]]:
    """The files with what fits on the page, and sentences about what does not."""
    files = [Changed(file.path, file.changed, file.findings, _code_of(file)) for file in result.files]
    new = [(name, hunks(b"", data)[:1]) for name, data in sorted(result.new_files().items())]
    return _views(result.root, files, new)


def of_document(document: dict[str, Any]) -> tuple[list[FileView], list[str]]:
    """The same from what `--json` printed, which has the changed lines and no other code."""
    root, by_path = document["summary"]["root"], _by_path(document["findings"])
    files = [
        Changed(file["path"], file["changed"], by_path.get(file["path"], []), _diff_of(file.get("diff", "")))
        for file in document["files"]
    ]
    return _views(root, files, [(name, []) for name in document["summary"]["new_files"]])


def _code_of(file: FileResult) -> Callable[[Iterable[int]], list[Hunk]]:
    return lambda lines: hunks(*file.texts(), also=lines)


def _diff_of(diff: str) -> Callable[[Iterable[int]], list[Hunk]]:
    return lambda _: parse(diff)


def _by_path(rows: Iterable[dict[str, Any]]) -> dict[str, list[Finding]]:
    found: dict[str, list[Finding]] = {}
    for row in rows:
        where = Where(**row["where"]) if row["where"] else None
        state = State(row["state"]) if row["state"] else None
        item = Finding(row["id"], Level(row["level"]), row["message"], where, row["fix"], state=state, doc=row["doc"])
        found.setdefault(where.path if where else "", []).append(item)
    return found


def _views(
    root: str, files: Iterable[Changed], new: Iterable[tuple[str, list[Hunk]]]
) -> tuple[list[FileView], list[str]]:
    views, rows_left, findings_left, cut_files = [], MAX_ROWS, MAX_FINDINGS, 0
    for file in files:
        shown = [item for item in file.findings if item.state is not State.BENIGN]
        name = os.path.relpath(file.path, root)
        view = FileView(name, file.changed, Counter(item.state for item in file.findings if item.state))
        if len(shown) > findings_left or rows_left <= 0:
            view.cut = f"{count(len(shown), 'finding')} and the code are left out to keep this page small"
            cut_files += 1
        else:
            _fill(view, file, shown, min(rows_left, MAX_FILE_ROWS))
            rows_left -= len(view.rows)
            findings_left -= len(shown)
        views.append(view)
    for path, parts in new:
        view = FileView(os.path.relpath(path, root), True, Counter(), is_new=True)
        view.rows = _rows(parts, {})[:MAX_FILE_ROWS]
        views.append(view)
    most = max((sum(view.states.values()) for view in views), default=0)
    for number, view in enumerate(views, 1):
        view.number = number
        view.share = max(4, 100 * sum(view.states.values()) // most) if most else 0
    sentences = []
    if cut_files:
        sentences.append(
            f"{count(cut_files, 'file')} of {sum(not view.is_new for view in views):,} appear without code and findings"
        )
    return views, sentences


def _fill(view: FileView, file: Changed, shown: Iterable[Finding], limit: int) -> None:
    at_line: dict[int, list[Finding]] = {}
    for item in shown:
        if item.where is not None and item.where.line:
            at_line.setdefault(item.where.line, []).append(item)
        else:
            view.top.append(item)
    rows = _rows(file.hunks(at_line), at_line)
    if len(rows) > limit:
        view.cut = f"the first {limit:,} of {len(rows):,} lines; `jumar migrate {file.path}` shows all"
        for row in rows[limit:]:
            view.top += row.findings
        rows = rows[:limit]
    view.rows = rows
    for rest in at_line.values():
        view.top += rest


def parse(diff: str) -> list[Hunk]:
    """The hunks of a unified diff of ours."""
    found: list[Hunk] = []
    lines: list[Line] = []
    for text in diff.split("\n"):
        if head := re.match(r"@@ -(\d+)(,0)?\S* \+(\d+)(,0)?", text):
            lines = []
            found.append(Hunk(int(head[1]) + bool(head[2]), int(head[3]) + bool(head[4]), ()))
        elif found and text[:1] in (" ", "-", "+"):
            lines.append(Line(text[0], text[1:].encode()))
            found[-1] = found[-1]._replace(lines=tuple(lines))
    return found


def _rows(parts: list[Hunk], at_line: dict[int, list[Finding]]) -> list[Row]:
    """Rows of code; takes each finding it places out of `at_line`. What is said stands below the new line."""
    rows: list[Row] = []
    for part in parts:
        if rows:
            rows.append(Row("gap", None, None, Markup("")))
        old, new = part.old, part.new
        for block in _blocks(part):
            waiting: list[Finding] = []
            for mark, code in block:
                rows.append(Row(mark, old if mark != "+" else None, new if mark != "-" else None, code))
                if mark != "+":
                    waiting += at_line.pop(old, [])
                    old += 1
                if mark != "-":
                    new += 1
            rows[-1].findings = waiting
    return rows


def _blocks(part: Hunk) -> Iterable[list[tuple[str, Markup]]]:
    """The lines of a hunk, those together that belong together; a replaced line has its changed words marked."""
    gone: list[str] = []
    come: list[str] = []
    for line in part.lines:
        text = line.text.decode("utf-8", "replace").rstrip("\r\n")[:MAX_LINE]
        if line.mark == "+":
            come.append(text)
            continue
        if come or line.mark == " ":
            yield from _replaced(gone, come)
            gone, come = [], []
        if line.mark == "-":
            gone.append(text)
        else:
            yield [(" ", escape(text))]
    yield from _replaced(gone, come)


def _replaced(gone: list[str], come: list[str]) -> Iterable[list[tuple[str, Markup]]]:
    if len(gone) == len(come):
        for pair in zip(gone, come, strict=True):
            old, new = _words(*pair)
            yield [("-", old), ("+", new)]
    else:
        yield [*(("-", escape(text)) for text in gone), *(("+", escape(text)) for text in come)]


def _words(old: str, new: str) -> tuple[Markup, Markup]:
    """Both lines with the words that differ marked."""
    a, b = (re.findall(r"\w+|\s+|.", text) for text in (old, new))
    start = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    end = 0
    while end < min(len(a), len(b)) - start and a[-1 - end] == b[-1 - end]:
        end += 1
    return _mark(a, start, end), _mark(b, start, end)


def _mark(words: list[str], start: int, end: int) -> Markup:
    stop = len(words) - end
    middle = "".join(words[start:stop])
    head, tail = escape("".join(words[:start])), escape("".join(words[stop:]))
    return head + (Markup("<mark>%s</mark>") % middle if middle.strip() else escape(middle)) + tail
