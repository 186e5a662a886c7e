"""Results as lines for a terminal or a log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from jumar.core import diff as differences
from jumar.core.finding import Finding, Level, State
from jumar.core.lang import pad, t
from jumar.core.printable import one_line, paint
from jumar.migrate.result import FileResult, ProjectResult

_COLOURS = {Level.ERROR: "31", Level.WARNING: "33", Level.NOTE: "36"}
_DIFF_COLOURS = {b"+++": b"1", b"---": b"1", b"@@ ": b"36", b"+": b"32", b"-": b"31"}
REST = (State.HAND, State.UNSUPPORTED, State.FALLBACK)
"""What is said beside a diff: a rewritten site shows in the diff itself, a benign one concerns nobody."""


def findings(items: Iterable[Finding], states: Iterable[State], *, colour: bool = False) -> Iterator[str]:
    """A line for each finding in one of the states (or in none), and one for its fix."""
    wanted = set(states)
    for item in items:
        if item.state is not None and item.state not in wanted:
            continue
        place = one_line(f"{item.where}: ") if item.where else ""
        level = _paint(item.level, _COLOURS[item.level], colour)
        yield f"{_paint(place, '1', colour)}{item.id} {level} {one_line(t(item.message))}"
        if item.fix:
            yield t(f"    fix: {item.fix}")


def diff(file: FileResult, *, colour: bool = False) -> bytes:
    """The unified diff of one file, byte for byte as the file has it."""
    text = differences.unified(file.path, file.before, file.after)
    if not colour:
        return text
    return b"".join(_paint_diff(line) for line in text.splitlines(keepends=True))


def new_file(path: str, data: bytes, *, colour: bool = False) -> bytes:
    """A further file as the diff that makes it."""
    text = differences.unified(path, b"", data).replace(b"--- " + differences.name("a", path), b"--- /dev/null", 1)
    return b"".join(_paint_diff(line) for line in text.splitlines(keepends=True)) if colour else text


def summary(result: ProjectResult, *, done: str = "", show_all: bool = False) -> Iterator[str]:
    """Counts; `done` is empty while nothing was written, else says what was (`written`, `written to …`)."""
    changed = sum(file.changed for file in result.files)
    if result.supports_ascend:
        shown = ", ".join(f"`{where.path}:{where.line}`" for where in result.supports_ascend[:3])
        gaps = "; these gaps remain" if result.left() or changed else ""
        yield f"This project already supports Ascend ({shown}){gaps}"
    yield (
        f"{count(result.scanned, 'file')} read, {changed} {'changed' if done else 'would change'}"
        f" ({count(result.lines, 'line')}, {result.seconds:.1f} s)"
    )
    new = result.new_files()
    if new:
        yield f"{count(len(new), 'new file')}: {', '.join(f'`{name}`' for name in sorted(new))}"
    states = result.states()
    for state in State:
        if states[state]:
            hidden = "  (`--all` shows them)" if state is State.BENIGN and not show_all else ""
            yield f"  {pad(t(state.value), 13)}{states[state]:>7,}{t(hidden)}"
    if result.from_project:
        yield f"  set by the project's `jumar.toml`: {', '.join(f'`{key}`' for key in result.from_project)}"
    for skipped in result.skipped:
        yield f"  left out: `{one_line(skipped.path)}`: {skipped.reason}"
    if done:
        yield done


def rules(rows: Iterable[tuple[str, str, str, str]]) -> Iterator[str]:
    """The list of rules: id, name, safety, summary."""
    for id_, name, safety, text in rows:
        yield f"{id_}  {name:<32} {safety:<5} {t(text)}"


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _paint(text: str, code: str, colour: bool) -> str:
    return paint(text, code) if colour and text else text


def _paint_diff(line: bytes) -> bytes:
    for start, code in _DIFF_COLOURS.items():
        if line.startswith(start):
            body = line.rstrip(b"\r\n")
            return b"\x1b[" + code + b"m" + body + b"\x1b[0m" + line[len(body) :]
    return line
