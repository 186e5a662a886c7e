"""Moves names of a `from … import …` to another module, with the rest of the statement as it was."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from jumar.core.edit import Edit
from jumar.migrate.pyfile import PyFile


def move(file: PyFile, node: ast.ImportFrom, moved: Mapping[str, str]) -> Edit | None:
    """Import the names in `moved` from where they are now (`{"FusedAdam": "torch_npu.optim.NpuFusedAdam"}`).

    Local names stay, so that no use of them changes. None when a comment stands inside the statement.
    """
    text = file.source.text(node)
    if b"#" in text or any(alias.name == "*" for alias in node.names):
        return None
    kept = [_spell(alias.name, alias.asname) for alias in node.names if alias.name not in moved]
    lines: dict[str, list[str]] = {}
    for alias in node.names:
        if alias.name in moved:
            module, _, name = moved[alias.name].rpartition(".")
            local = alias.asname or alias.name
            lines.setdefault(module, []).append(_spell(name, local if local != name else None))
    statements = [f"from {module} import {', '.join(names)}" for module, names in lines.items()]
    if kept:
        statements.insert(0, f"from {'.' * node.level}{node.module or ''} import {', '.join(kept)}")
    return file.replace(node, _joint(file, node).join(statements))


def _spell(name: str, local: str | None) -> str:
    return f"{name} as {local}" if local else name


def _joint(file: PyFile, node: ast.stmt) -> str:
    """What stands between two statements here: a line end with the indentation, or `; ` on a shared line."""
    start, end = file.source.span(node)
    before = file.source.data[file.source.starts[node.lineno - 1] : start]
    line_end = file.source.starts[file.source.line_of(end) - 1] + len(file.source.line_text(file.source.line_of(end)))
    rest = file.source.data[end:line_end].strip()
    if before.strip() or rest.startswith(b";"):
        return "; "
    indent = re.match(rb"[ \t\f]*", before)
    assert indent is not None
    return (file.source.newline + indent.group(0)).decode()
