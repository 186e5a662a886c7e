"""Puts an argument into a dictionary that the call has already: `num_gpus=1, resources=r` becomes one `resources`.

Half of a request rewritten is worse than none: a bundle that asks for NPUs, and a worker that asks for a GPU of it.
"""

from __future__ import annotations

import ast

from jumar.core.edit import Edit
from jumar.migrate.pyfile import PyFile


def joined(call: ast.Call, keyword: ast.keyword, name: str, entry: str, file: PyFile) -> tuple[Edit, ...] | None:
    """Edits that take `keyword` out and add `entry` (`"NPU": 1`) to the dictionary `name`; None when not sure."""
    target = file.keyword(call, name)
    gone = _without(call, keyword, file)
    if target is None or gone is None or target.value in file.lost:
        return None
    value = target.value
    if isinstance(value, ast.Dict) and value.values:
        end = file.source.span(value.values[-1])[1]
        return gone, Edit(end, end, f", {entry}".encode())
    if isinstance(value, (ast.Name, ast.Attribute)):
        return gone, file.replace(value, f"{{**({file.text(value)} or {{}}), {entry}}}")
    return None


def _without(call: ast.Call, keyword: ast.keyword, file: PyFile) -> Edit | None:
    """The argument and the comma on one side of it; None when a comment stands there."""
    spans = sorted([*map(file.source.span, call.args), *map(file.source.span, call.keywords)])
    at = spans.index(file.source.span(keyword))
    if at + 1 < len(spans):
        start, end = spans[at][0], spans[at + 1][0]
        gap = file.source.data[spans[at][1] : end]
    else:
        start, end = spans[at - 1][1], spans[at][1]
        gap = file.source.data[start : spans[at][0]]
    return Edit(start, end, b"") if gap.strip(b" \t\r\n") == b"," else None
