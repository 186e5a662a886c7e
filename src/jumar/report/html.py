"""One self-contained page: numbers, files, diffs with the findings at their lines, and a filter.

Large projects are cut, and the page says where: it must stay small enough for a mail and a slow browser.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from jumar import __version__
from jumar.core.compat import dataclass, zip
from jumar.core.diff import Hunk, hunks
from jumar.core.finding import Finding, State
from jumar.report import proof as proofs
from jumar.report.text import count

if TYPE_CHECKING:
    from jinja2 import Environment

    from jumar.emulate.proof.result import Proof
    from jumar.migrate.result import FileResult, ProjectResult
    from jumar.migrate.rule import Unit

MAX_ROWS = 24_000
"""Lines of code on the page."""
MAX_FILE_ROWS = 1_200
MAX_FINDINGS = 12_000
MAX_LINE = 400
"""Characters of a line of code."""
OPEN_ROWS = 1_500
"""A page with more lines than this begins with its files folded."""

KEYS = {
    State.REWRITTEN: "rewritten",
    State.HAND: "hand",
    State.UNSUPPORTED: "unsupported",
    State.FALLBACK: "fallback",
    State.BENIGN: "benign",
}
MEANINGS = {
    State.REWRITTEN: "changed by `jumar migrate`",
    State.HAND: "you have to decide or change it",
    State.UNSUPPORTED: "the target has no counterpart",
    State.FALLBACK: "works, but runs on the CPU or slower",
    State.BENIGN: "nothing to do",
}


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


def environment() -> Environment:
    """Templates of the pages, with the filters they use."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("jumar.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["code"] = code
    made.filters["key"] = lambda state: KEYS[state]
    made.filters["count"] = count
    return made


def render(result: ProjectResult, rules: Mapping[str, Unit], proof: Proof | None = None) -> str:
    """The whole page as text; `proof` is what running the project showed."""
    views, cut = _views(result)
    states = result.states()
    return (
        environment()
        .get_template("report.html")
        .render(
            result=result,
            files=views,
            cut=cut,
            states=[(state, states[state], MEANINGS[state]) for state in State],
            total=sum(states.values()),
            left=result.left(),
            changed=sum(file.changed for file in result.files),
            rules=_rules(result.findings(), rules),
            unfolded=sum(len(view.rows) for view in views) <= OPEN_ROWS,
            version=__version__,
            proof=proofs.view(proof) if proof is not None else None,
        )
    )


def _views(result: ProjectResult) -> tuple[list[FileView], list[str]]:
    """The files with what fits on the page, and sentences about what does not."""
    views, rows_left, findings_left, cut_files = [], MAX_ROWS, MAX_FINDINGS, 0
    for file in result.files:
        shown = [item for item in file.findings if item.state is not State.BENIGN]
        name = os.path.relpath(file.path, result.root)
        view = FileView(name, file.changed, Counter(item.state for item in file.findings if item.state))
        if len(shown) > findings_left or rows_left <= 0:
            view.cut = f"{count(len(shown), 'finding')} and the code are left out to keep this page small"
            cut_files += 1
        else:
            _fill(view, file, shown, min(rows_left, MAX_FILE_ROWS))
            rows_left -= len(view.rows)
            findings_left -= len(shown)
        views.append(view)
    for name, data in sorted(result.new_files().items()):
        view = FileView(os.path.relpath(name, result.root), True, Counter(), is_new=True)
        view.rows = _rows(hunks(b"", data)[:1], {})[:MAX_FILE_ROWS]
        views.append(view)
    most = max((sum(view.states.values()) for view in views), default=0)
    for number, view in enumerate(views, 1):
        view.number = number
        view.share = max(4, 100 * sum(view.states.values()) // most) if most else 0
    sentences = []
    if cut_files:
        sentences.append(f"{count(cut_files, 'file')} of {len(result.files):,} appear without code and findings")
    return views, sentences


def _fill(view: FileView, file: FileResult, shown: Iterable[Finding], limit: int) -> None:
    before, after = file.texts()
    at_line: dict[int, list[Finding]] = {}
    for item in shown:
        if item.where is not None and item.where.line:
            at_line.setdefault(item.where.line, []).append(item)
        else:
            view.top.append(item)
    rows = _rows(hunks(before, after, also=at_line), at_line)
    if len(rows) > limit:
        view.cut = f"the first {limit:,} of {len(rows):,} lines; `jumar migrate {file.path}` shows all"
        for row in rows[limit:]:
            view.top += row.findings
        rows = rows[:limit]
    view.rows = rows
    for rest in at_line.values():
        view.top += rest


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


def _rules(items: Iterable[Finding], rules: Mapping[str, Unit]) -> list[dict[str, Any]]:
    """What was found by rule, the most work first."""
    by_id: dict[str, Counter[State]] = {}
    names: dict[str, str] = {}
    for item in items:
        if item.state is not None:
            by_id.setdefault(item.id, Counter())[item.state] += 1
            names.setdefault(item.id, item.doc or "")
    rows = []
    for id_, states in by_id.items():
        summary = rules[id_].rule.summary if id_ in rules else ""
        left = sum(states.values()) - states[State.REWRITTEN] - states[State.BENIGN]
        rows.append({"id": id_, "name": names[id_], "summary": summary, "states": states, "left": left})
    return sorted(rows, key=lambda row: (-row["left"], -sum(row["states"].values()), row["id"]))


def code(text: str) -> Markup:
    """Backticks become code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))
