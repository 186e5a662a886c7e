"""`ops.interpolate(x, sizes=…, coordinate_transformation_mode=…)`: the arguments of MindSpore 1.8 to 1.10.

Source: mindspore 1.10.1 and 2.10.0 (`ops/function/nn_func.py`): "align_corners", which was what is meant without the
argument, is `align_corners=True`; "half_pixel" is `align_corners=False`; "asymmetric" has no counterpart.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.edit import Edit
from jumar.core.finding import Finding, State
from jumar.migrate.passes.mindspore import calls
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="MS120",
    name="old-interpolate-call",
    summary="arguments that ops.interpolate had until 1.10",
    keywords=("interpolate",),
    beside=("mindspore",),
)
_NAMES = ("mindspore.ops.interpolate", "mindspore.ops.functional.interpolate")
_OLD = ("sizes", "scales", "roi", "coordinate_transformation_mode", "x")
_TODAY = {"sizes": "size", "scales": "scale_factor"}
_CORNERS = {"align_corners": "True", "half_pixel": "False"}


def visit_Call(node: ast.Call, file: PyFile) -> Iterator[Finding]:
    if not calls.is_call(file, node, _NAMES) or not _is_old(node):
        return
    message = "`ops.interpolate` takes `size` or `scale_factor`, and `align_corners` for the coordinates"
    edits = None if len(node.args) > 1 or file.has_stars(node) else _edits(node, file)
    if edits is None:
        fix = "write `size=` or `scale_factor=` with `recompute_scale_factor=True`, and `align_corners=`"
        yield file.report(RULE, node, State.HAND, message, fix)
    else:
        yield file.rewrite(RULE, node, message, *edits)


def _is_old(call: ast.Call) -> bool:
    """Has the call an argument of 1.x, or the size where the mode stands today?"""
    fourth = call.args[3] if len(call.args) > 3 else None
    is_mode = fourth is None or (isinstance(fourth, ast.Constant) and isinstance(fourth.value, str))
    return not is_mode or any(keyword.arg in _OLD for keyword in call.keywords)


def _edits(call: ast.Call, file: PyFile) -> list[Edit] | None:
    given = {keyword.arg: keyword for keyword in call.keywords}
    coordinates = given.get("coordinate_transformation_mode")
    how = coordinates.value.value if coordinates and isinstance(coordinates.value, ast.Constant) else None
    if coordinates and how not in _CORNERS:
        return None
    new = [f"align_corners={_CORNERS[str(how or 'align_corners')]}"]
    if "mode" not in given:
        new.append('mode="linear"')
    edits: list[Edit] = []
    for keyword in call.keywords:
        text = _renamed(keyword, file)
        if text == "":
            return None
        if text is not None:
            edits.append(file.replace(keyword, text))
    if coordinates is not None:
        return [*edits, file.replace(coordinates, ", ".join(new))]
    last = file.span(call.keywords[-1])[1]
    return [*edits, Edit(last, last, f", {', '.join(new)}".encode())]


def _renamed(keyword: ast.keyword, file: PyFile) -> str | None:
    """The argument of today, None where it stays, `""` where it cannot be said here."""
    if keyword.arg in ("sizes", "scales", "roi") and isinstance(keyword.value, ast.Constant):
        return "" if keyword.value.value is not None or keyword.arg == "roi" else f"{_TODAY[keyword.arg]}=None"
    if keyword.arg == "sizes":
        return f"size={file.text(keyword.value)}"
    if keyword.arg == "x":
        return f"input={file.text(keyword.value)}"
    if keyword.arg == "scales":
        parts = keyword.value.elts if isinstance(keyword.value, (ast.Tuple, ast.List)) else []
        if len(parts) < 3 or any(isinstance(part, ast.Starred) for part in parts):
            return ""
        factors = ", ".join(file.text(part) for part in parts[2:])
        comma = "," if len(parts) == 3 else ""
        return f"scale_factor=({factors}{comma}), recompute_scale_factor=True"
    return "" if keyword.arg == "roi" else None
