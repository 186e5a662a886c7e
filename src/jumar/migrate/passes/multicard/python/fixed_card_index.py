"""A card chosen by number (`"cuda:0"`, `.cuda(0)`, `set_device(0)`): each process has a card of its own."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jumar.core.edit import Edit
from jumar.core.finding import Finding, State
from jumar.migrate import lines
from jumar.migrate.passes.multicard import script as scripts
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="PT301",
    name="fixed-card-index",
    summary="a card chosen by its number",
    keywords=("import",),
)
_DEVICE = re.compile(r"(cuda|npu):(\d+)")
_SETTERS = frozenset({"torch.cuda.set_device", "torch.npu.set_device", "torch.accelerator.set_device_index"})
_VISIBLE = frozenset({"CUDA_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES", "ASCEND_VISIBLE_DEVICES"})
_FIX = "use `LOCAL_RANK` for the number"


def finish(file: PyFile) -> Iterator[Finding]:
    script = scripts.of(file)
    if not script.ready:
        return
    strings = [node for node in file.index.nodes[ast.Constant] if isinstance(node, ast.Constant)]
    named = [node for node in strings if isinstance(node.value, str) and _DEVICE.fullmatch(node.value)]
    several = len({node.value for node in named}) > 1
    for node in named:
        if node in file.docstrings or isinstance(file.parent(node), ast.JoinedStr):
            continue
        yield _string(file, node, several)
    for string in file.index.nodes[ast.JoinedStr]:
        if isinstance(string, ast.JoinedStr) and _is_indexed(string):
            yield file.report(RULE, string, State.HAND, "every process would take the same card", _FIX)
    for call in script.calls_in(file):
        yield from _call(file, call)
        if file.name(call.func) == "torch.load" and _is_unplaced(file, call) and _is_state(script, call):
            message = "every process would load this to the card it was saved from: it comes through the CPU"
            edit = lines.add_argument(file, call, 'map_location="cpu"')
            yield file.rewrite(RULE, call, message, edit, otherwise='give it `map_location="cpu"`')
    for number in _numbers(script, file):
        yield file.rewrite(RULE, number, "this card number becomes this process's", file.replace(number, "LOCAL_RANK"))
    for node in strings:
        if node.value in _VISIBLE and _is_set(file, node):
            message = f"`{node.value}` is set here for every process"
            yield file.report(RULE, node, State.HAND, message, "remove it; choose cards when you start the processes")


def _is_unplaced(file: PyFile, call: ast.Call) -> bool:
    return len(call.args) < 2 and file.keyword(call, "map_location") is None and not file.has_stars(call)


def _is_state(script: scripts.Script, call: ast.Call) -> bool:
    """Does what is loaded go into `load_state_dict`, which copies it to where the parameters are?"""
    places: list[ast.AST] = [call]
    statement = script.file.statement(call)
    for target in statement.targets if isinstance(statement, ast.Assign) else ():
        var = script.flow.var(target)
        for alias in script.flow.aliases(var) if var is not None else ():
            places += script.flow.uses.get(alias, ())
    return any(
        isinstance(up, ast.Call) and isinstance(up.func, ast.Attribute) and up.func.attr == "load_state_dict"
        for place in places
        for up in script.file.ancestors(place)
    )


def _numbers(script: scripts.Script, file: PyFile) -> list[ast.Constant]:
    """Numbers given a name and then used as a device: `device = 0` … `x.to(device)`."""
    found: dict[ast.Constant, None] = {}
    for call in script.flow.calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr == "to" and len(call.args) == 1:
            for origin in script.flow.origins(call.args[0]):
                if isinstance(origin, ast.Constant) and type(origin.value) is int and origin.value == 0:
                    found.setdefault(origin)
    return [one for one in found if script.here(file, one)]


def _string(file: PyFile, node: ast.Constant, several: bool) -> Finding:
    text = str(node.value)
    cut = file.in_string(node, text[text.index(":") :], "")
    if several or not cut or len(cut) != 1:
        message = "cards chosen by number" if several else "every process would take this card"
        return file.report(RULE, node, State.HAND, message, _FIX)
    return file.rewrite(RULE, node, "without a number it is the card of this process", *cut)


def _is_indexed(node: ast.JoinedStr) -> bool:
    head = node.values[0] if node.values else None
    return isinstance(head, ast.Constant) and str(head.value) in ("cuda:", "npu:") and len(node.values) == 2


def _call(file: PyFile, call: ast.Call) -> Iterator[Finding]:
    name = file.name(call.func)
    func = call.func
    first = call.args[0] if call.args else None
    moves = isinstance(func, ast.Attribute) and func.attr in ("cuda", "npu") and name is None
    if name == "torch.device" and len(call.args) == 2:
        first, moves = call.args[1], True
    if first is None or not (moves or name in _SETTERS):
        return
    if isinstance(first, ast.Constant) and type(first.value) is int:
        start, end = file.source.span(first)
        yield file.rewrite(RULE, call, "the card of this process", Edit(start, end, b"LOCAL_RANK"))
    elif name in _SETTERS and not isinstance(first, (ast.Starred, ast.NamedExpr)):
        start, _ = file.source.span(first)
        own = Edit(start, start, b"LOCAL_RANK if WORLD_SIZE > 1 else ")
        yield file.rewrite(RULE, call, "the card of this process; alone, the card as before", own)
    elif name in _SETTERS or isinstance(first, ast.Attribute):
        yield file.report(RULE, call, State.HAND, "every process would take the same card", _FIX)


def _is_set(file: PyFile, node: ast.Constant) -> bool:
    up = file.parent(node)
    if isinstance(up, ast.Subscript):
        return isinstance(up.ctx, ast.Store)
    return isinstance(up, ast.Call) and isinstance(up.func, ast.Attribute) and up.func.attr in ("setdefault", "putenv")
