"""Jupyter notebooks: the code cells are one Python module, edited inside the JSON text; all else stays as it is.

Lines for IPython (`!cmd`, `%magic`, `%%cell magic`) are blanked out for the Python rules and, where they are shell
text, shown to the shell rules.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from jumar.core.compat import zip
from jumar.core.finding import Finding, State
from jumar.core.source import Source
from jumar.migrate import embedded, engine, rule
from jumar.migrate.embedded import Piece
from jumar.migrate.engine import Outcome, Round
from jumar.migrate.languages import python, shell
from jumar.migrate.rule import NOT_PYTHON, Unit
from jumar.migrate.settings import Settings
from jumar.migrate.syntax import notebook
from jumar.migrate.syntax.notebook import Cell
from jumar.migrate.textfile import TextFile, visit

SUFFIXES = (".ipynb",)


def migrate(source: Source, settings: Settings) -> Outcome:
    first = notebook.cells(source.data)
    if not first:
        return Outcome([], source.data)
    text = _join(source.data, first)[0].text
    for_cells = embedded.rules(text, settings)
    known = [unit for language in shell.RULES for unit in rule.active(language, settings)]
    for_lines = engine.select(known, text, settings)
    if not for_cells and not for_lines:
        return Outcome([], source.data)

    def run_round(current: Source) -> Round:
        cells = notebook.cells(current.data)
        if not cells:
            return Round([], [])
        piece, starts = _join(current.data, cells)
        inner = Source(current.path, piece.text)
        masked, lines, unread = notebook.mask(piece.text, starts)
        found = _python(Source(current.path, masked), settings, for_cells)
        found += _other(inner, settings, for_lines, lines, unread)
        found = engine.settled(inner, found, settings).findings
        places = [_place(finding, inner, cells, starts) for finding in found]
        lifted = [
            embedded.lift(finding, inner, current, piece, place) for finding, place in zip(found, places, strict=True)
        ]
        return Round(lifted, engine.choose(lifted, settings))

    return engine.until_stable(source, run_round)


def _join(data: bytes, cells: list[Cell]) -> tuple[Piece, list[int]]:
    """All cells as one text with a line end between them, and where each starts in it."""
    pieces: list[Piece] = []
    starts: list[int] = []
    length = 0
    for cell in cells:
        strings = [embedded.json_string(data, *span) for span in cell.strings]
        whole = embedded.joined(strings, b"")
        pieces.append(whole)
        starts.append(length)
        length += len(whole.text) + 1

    def encode(new: bytes, offset: int) -> bytes:
        glue = cells[max(bisect_right(starts, offset) - 1, 0)].glue
        return (b"\\n" + glue).join(embedded.encode_json(part) for part in new.split(b"\n"))

    return embedded.joined(pieces, b"\n")._replace(encode=encode), starts


def _python(source: Source, settings: Settings, active: list[Unit]) -> list[Finding]:
    if not active:
        return []
    return python.round_of_rules(source, settings, active).findings


def _other(
    inner: Source,
    settings: Settings,
    active: list[Unit],
    lines: list[notebook.Line],
    unread: list[tuple[int, int]],
) -> list[Finding]:
    """What the shell rules say, and what was not read at all."""
    file = TextFile(inner, settings)
    found: list[Finding] = []
    for line in lines:
        if line.kind == "shell":
            found += shell.read(file, active, line.start, line.end)
        else:
            found += visit(active, "visit_magic", (line.start, line.end), file)
    found += visit(active, "finish", file)
    found += [finding for start, end in unread for finding in _unread(file, start, end)]
    return found


def _unread(file: TextFile, start: int, end: int) -> Iterator[Finding]:
    marker = file.telling(file.text((start, end)))
    if marker is not None:
        message = f"this cell is not valid Python and contains `{marker}`"
        yield file.report(NOT_PYTHON, (start, start), State.HAND, message, "change it by hand")


def _place(finding: Finding, inner: Source, cells: list[Cell], starts: list[int]) -> str:
    assert finding.where is not None
    offset = inner.starts[finding.where.line - 1]
    position = max(bisect_right(starts, offset) - 1, 0)
    line = finding.where.line - inner.line_of(starts[position]) + 1
    return f"cell {cells[position].number}, line {line}: "
