"""Notebook files: the position of each code cell in the JSON, and which lines of it are not Python."""

from __future__ import annotations

import ast
import re
import warnings
from typing import NamedTuple

from jumar.migrate.syntax import json

_MAGIC = re.compile(rb"(?m)^[ \t]*(?:[\w.,\[\] \t]+=[ \t]*)?(?:!(?!=)|%%?(?=[A-Za-z])|\?{1,2}(?=\w))")
_HELP = re.compile(rb"(?m)^[ \t]*[\w.]+\?{1,2}[ \t]*$")
_LINE = re.compile(rb"(?:\\\r?\n|[^\n])*")
_PYTHON_CELLS = re.compile(rb"%%(?:time|timeit|capture|prun|python3?|debug)\b")
_SHELL_CELLS = re.compile(rb"%%(?:bash|sh|script[ \t]+(?:ba|z)?sh|!)")
_SHELL_LINES = re.compile(rb"(?:!!?|%(?:sx|system)\s|%(?=(?:pip|conda|mamba|uv)\s)|%(?:set_)?env\s)")


_LANGUAGE = (["metadata", "kernelspec", "language"], ["metadata", "language_info", "name"])


class Cell(NamedTuple):
    number: int
    """Counted from 1 over all cells, as people see them."""
    strings: tuple[tuple[int, int], ...]
    """The bodies of its source strings; several when the source is a list of lines."""
    glue: bytes
    """What stands between two strings of the list, quotes included; empty for a single string."""


class Line(NamedTuple):
    """A stretch that is not Python."""

    kind: str
    """`shell`, or `text` for the body of another cell magic."""
    start: int
    end: int


def cells(data: bytes) -> list[Cell]:
    """The code cells of a notebook of format 4; nothing for other formats or other languages."""
    found: list[Cell] = []
    stack: list[str] = []
    keys: list[str] = [""]
    number = 0
    is_code = False
    strings: list[tuple[int, int]] = []
    is_list, opened = False, 0
    wants_key = False
    for token in json.tokens(data):
        if token.kind in "{[":
            stack.append(token.kind)
            keys.append("")
            wants_key = token.kind == "{"
            if _is_cell(stack, keys):
                number += 1
                is_code, strings, is_list = False, [], False
            elif len(stack) == 4 and keys[1] == "cells" and keys[3] == "source":
                is_list, opened = True, token.end
        elif token.kind in "}]":
            if _is_cell(stack, keys) and is_code and strings:
                found.append(Cell(number, tuple(strings), _glue(data, strings, opened) if is_list else b""))
            if stack:
                stack.pop()
                keys.pop()
            wants_key = False
        elif token.kind == ",":
            wants_key = bool(stack) and stack[-1] == "{"
        elif token.kind == ":":
            wants_key = False
        elif wants_key and token.kind == "string":
            keys[-1] = json.text(data, token)[0]
        elif token.kind == "string" and keys[1:2] == ["cells"]:
            if len(stack) == 3 and keys[3] == "cell_type":
                is_code = data[token.start : token.end] == b"code"
            elif keys[3:4] == ["source"] and (len(stack) == 3 or (len(stack) == 4 and is_list)):
                strings.append((token.start, token.end))
        elif (
            token.kind == "string"
            and keys[1:] in _LANGUAGE
            and data[token.start : token.end] not in (b"python", b"Python", b"ipython")
        ):
            return []
    return found


def _is_cell(stack: list[str], keys: list[str]) -> bool:
    return stack == ["{", "[", "{"] and keys[1] == "cells"


def _glue(data: bytes, strings: list[tuple[int, int]], opened: int) -> bytes:
    if len(strings) > 1:
        return data[strings[0][1] : strings[1][0]]
    return b'",' + data[opened : strings[0][0]]


def mask(text: bytes, starts: list[int]) -> tuple[bytes, list[Line], list[tuple[int, int]]]:
    """The text with lines for IPython blanked out (same length), those lines, and cells that cannot be read."""
    out = bytearray(text)
    lines: list[Line] = []
    unread: list[tuple[int, int]] = []
    for position, start in enumerate(starts):
        end = starts[position + 1] - 1 if position + 1 < len(starts) else len(text)
        if not _parses(text[start:end]):
            lines += _mask_cell(out, text, start, end)
            if not _parses(bytes(out[start:end])):
                _blank(out, start, end, b"#")
                unread.append((start, end))
    return bytes(out), lines, unread


def _mask_cell(out: bytearray, text: bytes, start: int, end: int) -> list[Line]:
    body = text[start:end]
    first = start + len(body) - len(body.lstrip())
    if text.startswith(b"%%", first):
        line = _LINE.match(text, first, end)
        assert line is not None
        if not _PYTHON_CELLS.match(text, first):
            _blank(out, start, end, b"#")
            kind = "shell" if _SHELL_CELLS.match(text, first) else "text"
            return [Line(kind, min(line.end() + 1, end), end)]
        _blank(out, first, line.end(), b"#")
    found: list[Line] = []
    for match in [*_MAGIC.finditer(text, first, end), *_HELP.finditer(text, first, end)]:
        is_help = match.re is _HELP
        at = match.start() if is_help else match.end() - len(match.group().rpartition(b"=")[2].lstrip())
        at += len(text[at : match.end()]) - len(text[at : match.end()].lstrip())
        line = _LINE.match(text, at, end)
        if line is None or out[at : at + 1] == b"#":
            continue
        _blank(out, at, line.end(), b"_")
        shell = _SHELL_LINES.match(text, at)
        if shell:
            found.append(Line("shell", shell.end(), line.end()))
    return found


def _blank(out: bytearray, start: int, end: int, first: bytes) -> None:
    """Comments of the same length in place of a stretch; a name in front keeps a block from being empty."""
    for line in re.finditer(rb"[^\r\n]+", bytes(out[start:end])):
        size = line.end() - line.start()
        lead = first if line.start() == 0 else b"#"
        new = (lead + b"#" * (size - 1)) if size > 1 else lead
        out[start + line.start() : start + line.end()] = new


def _parses(text: bytes) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
