"""Edits of whole lines: put lines before or after a statement, put statements under an `if`.

Each function returns None when the statement shares its line with others; the caller then reports the line.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from jumar.core.edit import Edit
from jumar.migrate.pyfile import PyFile

_BLANK = re.compile(rb"[ \t\f]*(#[^\r\n]*)?")
_COMMENT = re.compile(rb"#[^\r\n]*")


def indent(file: PyFile, statement: ast.stmt) -> bytes | None:
    """The white space in front of a statement that starts its line."""
    first = _first_line(statement)
    line = file.source.line_text(first)
    lead = line[: len(line) - len(line.lstrip())]
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and statement.decorator_list:
        return lead
    return lead if len(lead) == statement.col_offset else None


def unit(file: PyFile) -> bytes:
    """One step of indentation as the file has it."""
    for node in file.tree.body:
        body = getattr(node, "body", None)
        if body and isinstance(body[0], ast.stmt) and body[0].lineno > node.lineno:
            lead = indent(file, body[0])
            if lead:
                return lead
    return b"    "


def before(file: PyFile, statement: ast.stmt, lines: Sequence[str]) -> Edit | None:
    """The lines go above the comment that stands directly over the statement."""
    lead = indent(file, statement)
    if lead is None:
        return None
    first = _first_line(statement)
    while first > 1 and re.match(re.escape(lead) + rb"#", file.source.line_text(first - 1)):
        first -= 1
    at = file.source.starts[first - 1]
    return Edit(at, at, b"".join(_line(file, lead, line) + file.source.newline for line in lines))


def after(file: PyFile, statement: ast.stmt, lines: Sequence[str]) -> Edit | None:
    lead = indent(file, statement)
    if lead is None or not ends_line(file, statement):
        return None
    assert statement.end_lineno is not None
    at = file.source.starts[statement.end_lineno - 1] + len(file.source.line_text(statement.end_lineno))
    return Edit(at, at, b"".join(file.source.newline + _line(file, lead, line) for line in lines))


def ends_line(file: PyFile, statement: ast.stmt) -> bool:
    _, end = file.source.span(statement)
    assert statement.end_lineno is not None
    rest = file.source.data[
        end : file.source.starts[statement.end_lineno - 1] + len(file.source.line_text(statement.end_lineno))
    ]
    return _BLANK.fullmatch(rest) is not None


def under(file: PyFile, statements: Sequence[ast.stmt], header: str) -> list[Edit] | None:
    """The edits that put neighbouring statements under `header`, one step deeper; strings keep their bytes."""
    first, last = statements[0], statements[-1]
    lead = indent(file, first)
    if lead is None or not all(indent(file, one) is not None and ends_line(file, one) for one in statements):
        return None
    assert last.end_lineno is not None
    source, step = file.source, unit(file)
    at = source.starts[_first_line(first) - 1]
    edits = [Edit(at, at, lead + header.encode() + source.newline + step)]
    for line in range(_first_line(first) + 1, last.end_lineno + 1):
        start = source.starts[line - 1]
        if source.line_text(line).strip() and not _in_string(file, start):
            edits.append(Edit(start, start, step))
    return edits


def add_argument(file: PyFile, call: ast.Call, text: str) -> Edit | None:
    """The edit that gives a call one more keyword argument."""
    if call.keywords:
        start, _ = file.source.span(call.keywords[0])
        return Edit(start, start, f"{text}, ".encode())
    _, end = file.source.span(call)
    if not call.args:
        return Edit(end - 1, end - 1, text.encode())
    if len(call.args) == 1 and isinstance(call.args[0], ast.GeneratorExp):
        return None
    _, at = file.source.span(call.args[-1])
    region = _COMMENT.sub(lambda match: b" " * len(match.group()), file.source.data[at : end - 1])
    closing = region.rfind(b")")
    return Edit(at + closing + 1, at + closing + 1, f", {text}".encode())


def _first_line(statement: ast.stmt) -> int:
    decorators = getattr(statement, "decorator_list", None)
    return decorators[0].lineno if decorators else statement.lineno


def _line(file: PyFile, lead: bytes, line: str) -> bytes:
    """`line` with the file's own indentation for each leading four blanks."""
    text = line.lstrip(" ")
    if not text:
        return b""
    return lead + unit(file) * ((len(line) - len(text)) // 4) + text.encode()


def _in_string(file: PyFile, offset: int) -> bool:
    return any(start < offset < end for start, end in file.string_spans)
