"""The block of constants and small functions after the imports of a distributed script."""

from __future__ import annotations

import ast

from jumar.core.edit import Edit
from jumar.migrate import lines
from jumar.migrate.passes.multicard import metrics, text, uses
from jumar.migrate.passes.multicard.script import Script
from jumar.migrate.settings import Style


def edit(script: Script, behind: ast.stmt) -> Edit:
    """The edit that puts the block behind the imports."""
    source = script.file.source
    assert behind.end_lineno is not None
    at = source.starts[behind.end_lineno - 1] + len(source.line_text(behind.end_lineno))
    body = [*_imports(script, behind), "", *block(script)]
    following = source.data[at:].lstrip(b"\r\n")
    gap = len(source.data[at:]) - len(following)
    step = lines.unit(script.file)
    spelled = [step * ((len(line) - len(line.lstrip(" "))) // 4) + line.lstrip(" ").encode() for line in body]
    new = b"".join(source.newline + line for line in spelled)
    if following and gap <= len(source.newline):
        new += source.newline
    return Edit(at, at, new)


def block(script: Script) -> list[str]:
    """The lines of the block: constants, then the functions that the rewritten lines call."""
    file = script.file
    found = list(text.CONSTANTS)
    entry = script.entry
    totals = metrics.find(script)
    if file.settings.to is Style.AGNOSTIC or totals:
        found += text.card(file)
    if entry is not None and entry.first is None:
        found += text.start(file)
    logging = logging_name(script)
    if _prints(script) or logging is not None:
        found += ["", "if RANK != 0:"]
        found += [f"    {logging}.disable({logging}.WARNING)"] if logging is not None else []
        found += text.QUIET_PRINT if _prints(script) else []
    for wanted, function in (
        (any(use.reason is None for use in uses.find(script)), text.UNWRAPPED),
        (bool(totals), text.SUM),
        (any(total.how != "sum" for total in totals), text.MEAN),
        (bool(script.foreign_loaders), text.SPLIT),
    ):
        if wanted:
            found += ["", "", *function]
    return found


def logging_name(script: Script) -> str | None:
    """How the script spells the `logging` module, when it logs with it."""
    for node in script.file.tree.body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == "logging":
                    return alias.asname or "logging"
    return None


def _imports(script: Script, behind: ast.stmt) -> list[str]:
    have = {
        (alias.asname or alias.name.split(".")[0])
        for node in script.file.tree.body
        if isinstance(node, ast.Import) and node.lineno <= behind.lineno
        for alias in node.names
        if alias.asname in (None, alias.name)
    }
    later = logging_name(script)
    found = [f"import {name}" for name in ("os", "torch") if name not in have]
    if later == "logging" and "logging" not in have:
        found.append("import logging")
    known = script.file.source.data
    return found + [line for line in (text.DDP, text.SAMPLER) if line.encode() not in known]


def _prints(script: Script) -> bool:
    return any(isinstance(call.func, ast.Name) and call.func.id == "print" for call in script.flow.calls) and (
        "print" not in script.file.index.module.bindings
    )
