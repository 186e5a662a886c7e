"""A data transform whose arguments changed when `c_transforms` and `py_transforms` became one module."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.edit import Edit
from jumar.core.finding import Finding, State
from jumar.migrate import lines
from jumar.migrate.passes.mindspore import calls
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="MS103",
    name="dataset-transform-call",
    summary="a data transform whose arguments have changed",
    keywords=("c_transforms", "py_transforms"),
)
_PYTHON = "py_transforms"
_ADDED = {
    "Decode": "to_pil=True",
    "Normalize": "is_hwc=False",
    "NormalizePad": "is_hwc=False",
    "Cutout": "is_hwc=False",
}
"""What the transform of today needs to do what the one of `py_transforms` did: PIL images, channels first."""
_RENAMED = {"Cutout": "CutOut", "OneHotOp": "OneHot"}
_GONE = {
    "RgbToBgr": "use `vision.ConvertColor(vision.ConvertMode.COLOR_RGB2BGR)`",
    "SoftDvppDecodeRandomCropResizeJpeg": "use `vision.RandomCropDecodeResize`",
    "SoftDvppDecodeResizeJpeg": "use `vision.Decode` and `vision.Resize`",
}


def visit_Call(node: ast.Call, file: PyFile) -> Iterator[Finding]:
    module, _, name = (file.name(node.func) or "").rpartition(".")
    if not module.startswith("mindspore.dataset.") or not module.endswith(("c_transforms", _PYTHON)):
        return
    if name in _GONE:
        yield file.report(RULE, node.func, State.UNSUPPORTED, f"`{name}` is gone in 2.10.0", _GONE[name], name)
        return
    edits: list[Edit | None] = []
    if name in _RENAMED and isinstance(node.func, ast.Attribute):
        edits.append(file.rename_attr(node.func, _RENAMED[name]))
    elif name in _RENAMED:
        fix = f"import and call `{_RENAMED[name]}`"
        yield file.report(RULE, node, State.HAND, f"`{name}` is `{_RENAMED[name]}` today", fix, name)
        return
    rgb = file.keyword(node, "rgb")
    if name == "Decode" and (rgb is not None or node.args):
        yield from _decode(node, rgb, file)
        return
    if module.endswith(_PYTHON) and name in _ADDED:
        edits.append(lines.add_argument(file, node, _ADDED[name]))
    made = [edit for edit in edits if edit is not None]
    if edits and len(made) == len(edits):
        what = f"`{_RENAMED.get(name, name)}({_ADDED.get(name, '')})`"
        yield file.rewrite(RULE, node, f"`{name}` of `{module.rpartition('.')[2]}` becomes {what}", *made, subject=name)


def _decode(node: ast.Call, rgb: ast.keyword | None, file: PyFile) -> Iterator[Finding]:
    value = rgb.value if rgb is not None else node.args[0]
    if not (isinstance(value, ast.Constant) and value.value is True):
        fix = "decode to RGB, then `vision.ConvertColor(vision.ConvertMode.COLOR_RGB2BGR)`"
        yield file.report(RULE, node, State.HAND, "`Decode` no longer has `rgb`; it always gives RGB", fix)
        return
    edits = calls.without(file, node, [rgb or node.args[0]])
    if edits is not None:
        yield file.rewrite(RULE, node, "`Decode(rgb=True)` becomes `Decode()`", *edits)
