"""The block of constants and small functions after the imports of a file of a distributed program."""

from __future__ import annotations

import ast

from jumar.core.edit import Edit
from jumar.migrate import lines
from jumar.migrate.passes.multicard import text
from jumar.migrate.passes.multicard.script import Script
from jumar.migrate.pyfile import PyFile
from jumar.migrate.settings import Style

RANKS = frozenset({"RANK", "LOCAL_RANK", "WORLD_SIZE", "CARD"})


def edit(script: Script, file: PyFile, behind: ast.stmt, written: set[str]) -> Edit:
    """The edit that puts the block behind the imports; `written` are the names in the rewritten lines."""
    source = file.source
    assert behind.end_lineno is not None
    at = source.starts[behind.end_lineno - 1] + len(source.line_text(behind.end_lineno))
    inner = block(script, file, written)
    body = [*_imports(script, file, behind, written | text.words(inner)), "", *inner]
    following = source.data[at:].lstrip(b"\r\n")
    gap = len(source.data[at:]) - len(following)
    step = lines.unit(file)
    spelled = [step * ((len(line) - len(line.lstrip(" "))) // 4) + line.lstrip(" ").encode() for line in body]
    new = b"".join(source.newline + line for line in spelled)
    if following and gap <= len(source.newline):
        new += source.newline
    return Edit(at, at, new)


def block(script: Script, file: PyFile, written: set[str]) -> list[str]:
    """The lines of the block: constants, then the functions that the rewritten lines call."""
    functions = text.functions(written)
    used = written | {word for body in functions.values() for word in text.words(body)}
    is_main = script.is_main(file)
    found = list(text.CONSTANTS) if is_main else text.CONSTANTS[1:] if used & RANKS else []
    if "CARD" in used or (is_main and file.settings.to is Style.AGNOSTIC):
        found += text.card(file)
    if is_main:
        assert script.entry is not None
        found += text.start(file) if script.entry.first is None else []
        found += _quiet(script)
    for body in functions.values():
        found += ["", "", *body] if found else body
    return found


def _quiet(script: Script) -> list[str]:
    """What the other processes do not say."""
    printing, logging = _printing(script), logging_name(script)
    if not printing and logging is None:
        return []
    found = ["", "if RANK != 0:"]
    found += [f"    {logging}.disable({logging}.WARNING)"] if logging is not None else []
    if printing:
        found += text.QUIET_PRINT if printing == {script.file.main} else text.QUIET_PRINTS
    return found


def logging_name(script: Script) -> str | None:
    """How the main file spells the `logging` module, when the program logs with it."""
    names = {}
    for file in script.file.files.values():
        for node in file.tree.body:
            for alias in node.names if isinstance(node, ast.Import) else ():
                if alias.name == "logging":
                    names[file] = alias.asname or "logging"
    return names.get(script.file.main, "logging") if names else None


def _imports(script: Script, file: PyFile, behind: ast.stmt, used: set[str]) -> list[str]:
    have = {
        (alias.asname or alias.name.split(".")[0])
        for node in file.tree.body
        if isinstance(node, ast.Import) and node.lineno <= behind.lineno
        for alias in node.names
        if alias.asname in (None, alias.name)
    }
    plain = [name for name in ("builtins", "logging", "os", "torch") if name in used and name not in have]
    found = [f"import {name}" for name in sorted(plain, key=lambda name: name not in ("os", "torch"))]
    known = file.source.data
    rest = [line for name, line in text.IMPORTS.items() if name in used and line.encode() not in known]
    return found + [line for line in rest if not (line == "import contextlib" and "contextlib" in have)]


def _printing(script: Script) -> set[PyFile]:
    """The files whose calls of `print` are the builtin's."""
    found = set()
    for call in script.flow.calls:
        if isinstance(call.func, ast.Name) and call.func.id == "print" and script.is_reached(call):
            file = script.file.file_of(call)
            if "print" not in file.index.module.bindings:
                found.add(file)
    return found
