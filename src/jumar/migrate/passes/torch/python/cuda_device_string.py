"""A string that names a CUDA device (`"cuda"`, `"cuda:0"`, `f"cuda:{i}"`) where a device is meant."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.around import Place
from jumar.migrate.document import Change
from jumar.migrate.passes.torch import context, kernels, shapes, targets
from jumar.migrate.passes.torch.styles.change import Use
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule, Site

RULE = Rule(
    id="PT101",
    name="cuda-device-string",
    summary="a string that names a CUDA device",
    keywords=("cuda", '"cu"', "'cu'"),
    site=Site.DEVICE,
)
_PLAIN = re.compile(r"cuda(:\d*)?")
_PATTERN = re.compile(r"cuda:?(%[dsi]|\{\w*(:d)?\})")
_REGISTERED = {"custom_op", "register_kernel", "triton_op", "impl"}
"""Decorators that make a function the implementation of an operator."""
_PATHS = ("os.path.", "osp.", "glob.", "Path", "pathlib.")
_FIX = 'write "npu" here if it means the device'


def visit_Constant(node: ast.Constant, file: PyFile) -> Iterator[Finding]:
    value = node.value
    if not isinstance(value, str) or not value.startswith("cuda") or node in file.docstrings:
        return
    if _PLAIN.fullmatch(value):
        whole, index = _added(node, file)
    elif _PATTERN.fullmatch(value):
        whole, index = _formatted(node, file)
    else:
        return
    yield from _site(file, node, whole, index)


def visit_JoinedStr(node: ast.JoinedStr, file: PyFile) -> Iterator[Finding]:
    first = node.values[0] if node.values else None
    if not isinstance(first, ast.Constant) or first.value not in ("cuda", "cuda:"):
        return
    field = node.values[1] if len(node.values) == 2 else None
    index = None
    if isinstance(field, ast.FormattedValue) and field.conversion == -1 and field.format_spec is None:
        index = field.value
    yield from _site(file, node, node, index)


def _site(
    file: PyFile, node: ast.Constant | ast.JoinedStr, whole: ast.expr, index: ast.expr | None
) -> Iterator[Finding]:
    use, reason = context.device_use(file, whole)
    text = file.text(node) if node not in file.lost else "of an f-string"
    kernel = _implemented(node, file) if use is not None else None
    if kernel is not None:
        message = f"this operator's implementation for {text} starts `{kernel}`"
        yield file.report(RULE, node, State.HAND, message, "register one for `npu` that NPUs can run")
        return
    if use is None:
        if reason == "unsure":
            yield file.report(RULE, node, State.HAND, f"`{text}` may name a device", _FIX)
        elif reason != "other rule":
            yield file.report(RULE, node, State.BENIGN, f"`{text}` is {reason}, not a device")
        return
    yield file.rewrite(RULE, node, f"device string `{text}`", _change(file, node, whole, index, use), otherwise=_FIX)


def _implemented(node: ast.expr, file: PyFile) -> str | None:
    """The kernel that an operator of the program starts on this device: `@custom_op(…, device_types="cuda")`."""
    below: ast.AST = node
    for up in file.ancestors(node):
        if isinstance(up, ast.stmt):
            is_function = isinstance(up, (ast.FunctionDef, ast.AsyncFunctionDef)) and below in up.decorator_list
            is_operator = is_function and isinstance(below, ast.Call) and shapes.last_word(below.func) in _REGISTERED
            return kernels.first(up.body, file) if is_operator else None  # type: ignore[attr-defined]
        below = up
    return None


def _change(
    file: PyFile, node: ast.Constant | ast.JoinedStr, whole: ast.expr, index: ast.expr | None, use: Use
) -> Change | None:
    style = targets.style(file)
    change: Change | None
    if index is not None and use is Use.MAKE:
        change = style.device_call(file, whole, node, index)
    elif isinstance(node, ast.Constant) and (whole is node or file.settings.to != "agnostic"):
        change = style.device(file, node, use)
    else:
        change = style.device(file, node, use) if file.settings.to != "agnostic" else None
    return change


def _added(node: ast.Constant, file: PyFile) -> tuple[ast.expr, ast.expr | None]:
    """The whole of `"cuda:" + str(i)` and its number."""
    up = file.parent(node)
    if not isinstance(up, ast.BinOp) or not isinstance(up.op, ast.Add) or up.left is not node:
        return node, None
    if node.value == "cuda" and isinstance(up.right, ast.Constant) and not str(up.right.value).startswith(":"):
        return node, None
    outer = up
    while isinstance(more := file.parent(outer), ast.BinOp) and isinstance(more.op, ast.Add) and more.left is outer:
        outer = more
    right = up.right
    if isinstance(right, ast.Call) and isinstance(right.func, ast.Name) and right.func.id == "str" and right.args:
        right = right.args[0]
    return outer, right if outer is up and node.value == "cuda:" else None


def _formatted(node: ast.Constant, file: PyFile) -> tuple[ast.expr, ast.expr | None]:
    """The whole of `"cuda:%d" % i` or `"cuda:{}".format(i)` and its number."""
    up = file.parent(node)
    if isinstance(up, ast.BinOp) and isinstance(up.op, ast.Mod) and up.left is node:
        right = up.right
        if isinstance(right, (ast.Tuple, ast.Dict)):
            return up, right.elts[0] if isinstance(right, ast.Tuple) and len(right.elts) == 1 else None
        return up, right
    if isinstance(up, ast.Attribute) and up.attr == "format":
        call = file.parent(up)
        if isinstance(call, ast.Call) and call.func is up:
            given = [*call.args, *(keyword.value for keyword in call.keywords)]
            return call, given[0] if len(given) == 1 and not file.has_stars(call) else None
    return node, None


def noise(finding: Finding, place: Place) -> str:
    outer = place.string[1]
    is_path = isinstance(outer, ast.Call) and ast.unparse(outer.func).startswith(_PATHS)
    return "a part of a path" if is_path else ""
