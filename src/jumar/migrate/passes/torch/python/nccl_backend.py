"""The communication backend `nccl`, in the strings that name it: HCCL takes its place on NPUs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jumar.core.compat import MatchValue
from jumar.core.edit import Edit
from jumar.core.finding import Finding, State
from jumar.migrate.document import WRITTEN_STYLES
from jumar.migrate.passes.torch import shapes, targets
from jumar.migrate.passes.torch.styles import npu
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="PT150",
    name="nccl-backend",
    summary="the communication backend nccl in a string",
    keywords=("nccl",),
)
_BACKEND = re.compile(r"nccl|(?:\w+:\w+,\s*)*cuda:nccl(?:,\s*\w+:\w+)*")
# The compiler's and linker's `nccl` is a library to port, not a backend to choose.
_LIBRARY_KEYWORDS = {"libraries", "extra_link_args", "package_name", "library_dirs"}
_LIBRARY_CALLS = ("find_library", "CDLL", "find_spec", "import_module", "find_package")
_PATCHED = {
    "torch.distributed.init_process_group",
    "torch.distributed.new_group",
    "torch.distributed.distributed_c10d.init_process_group",
}
_QUESTIONS = {"torch.cuda.is_available", "torch.distributed.is_nccl_available"}
_CHOSEN = 'torch.distributed.get_default_backend_for_device(torch.accelerator.current_accelerator() or "cpu")'


def visit_Constant(node: ast.Constant, file: PyFile) -> Iterator[Finding]:
    value = node.value
    if not isinstance(value, str) or "nccl" not in value.lower() or node in file.docstrings:
        return
    if value == "NCCL" and _is_backend_argument(node, file):
        yield from _rewritten(node, file, "NCCL", "HCCL")
    elif _BACKEND.fullmatch(value) and not shapes.is_text(node, file):
        if _is_registered(node, file):
            message = f"{file.text(node)} is a name that this project registers"
            yield file.report(RULE, node, State.BENIGN, message, subject="nccl")
        elif _is_library(node, file):
            yield file.report(
                RULE,
                node,
                State.HAND,
                "this names the library `nccl`, which an NPU machine does not have",
                "leave it out: HCCL comes with CANN and needs no linking",
            )
        else:
            yield from _rewritten(node, file, "nccl", "hccl")


def _rewritten(node: ast.Constant, file: PyFile, old: str, new: str) -> Iterator[Finding]:
    message = f"backend {file.text(node)} becomes `{new}`"
    if targets.is_agnostic(file):
        yield from _agnostic(node, file)
        return
    edits = file.in_string(node, old, new)
    if edits and "cuda:" in str(node.value):
        edits += file.in_string(node, "cuda:", "npu:") or []
    if not edits:
        yield file.report(RULE, node, State.HAND, message, f'write `"{new}"` here')
        return
    yield file.rewrite(
        RULE,
        node,
        message,
        *edits,
        needs=npu.needs(file),
        at_run_time=_is_translated(node, file),
        styles=WRITTEN_STYLES,
    )


def _is_translated(node: ast.Constant, file: PyFile) -> bool:
    """Does the run-time migration take care of it, or is it compared with what torch answers (`hccl`)?"""
    call = shapes.call_of(node, file)
    if call is not None:
        return file.name(call.func) in _PATCHED or not (file.name(call.func) or "torch.").startswith("torch.")
    compare = next((up for up in file.ancestors(node) if isinstance(up, (ast.Compare, ast.stmt))), None)
    return not isinstance(compare, ast.Compare) or "get_backend" not in file.text(compare)


def _agnostic(node: ast.Constant, file: PyFile) -> Iterator[Finding]:
    """Both names where backends are listed or compared, the device's own backend where one is chosen."""
    message = f"backend {file.text(node)} becomes the device's own"
    parent = file.parent(node)
    start, end = file.source.span(node)
    if node in file.lost or node.value != "nccl" or isinstance(parent, (ast.Dict, ast.Subscript, MatchValue)):
        yield file.report(RULE, node, State.HAND, message, "add a case for `hccl`, the backend of NPUs")
    elif isinstance(parent, (ast.List, ast.Tuple, ast.Set)):
        known = any(isinstance(item, ast.Constant) and item.value == "hccl" for item in parent.elts)
        edits = () if known else (Edit(end, end, b', "hccl"'),)
        yield file.rewrite(RULE, node, "`hccl` is added beside `nccl`", *edits, styles=WRITTEN_STYLES)
    elif isinstance(parent, ast.Compare):
        yield from _compared(node, parent, file)
    elif not file.imports("torch"):
        yield file.report(RULE, node, State.HAND, message, "choose `hccl` here when the device is an NPU")
    else:
        needs = ("import torch",)
        if isinstance(parent, ast.IfExp) and _is_choice(parent, node, file):
            start, end = file.source.span(parent)
        yield file.rewrite(RULE, node, message, Edit(start, end, _CHOSEN.encode()), needs=needs, styles=WRITTEN_STYLES)


def _is_choice(parent: ast.IfExp, node: ast.Constant, file: PyFile) -> bool:
    """`"nccl" if dist.is_nccl_available() else "gloo"`: what torch has registered answers the question too."""
    tests = parent.test.values if isinstance(parent.test, ast.BoolOp) else [parent.test]
    asked = [file.name(test.func) for test in tests if isinstance(test, ast.Call)]
    is_gloo = isinstance(parent.orelse, ast.Constant) and parent.orelse.value == "gloo"
    return parent.body is node and is_gloo and len(asked) == len(tests) and _QUESTIONS.issuperset(asked)


def _compared(node: ast.Constant, compare: ast.Compare, file: PyFile) -> Iterator[Finding]:
    words = {ast.Eq: "in", ast.NotEq: "not in"}
    word = words.get(type(compare.ops[0])) if len(compare.ops) == 1 and compare.comparators[0] is node else None
    operator = re.compile(rb"\s*(==|!=)\s*")
    left = file.source.span(compare.left)[1]
    start, end = file.source.span(node)
    match = operator.fullmatch(file.source.data, left, start)
    if word is None or match is None:
        yield file.report(RULE, node, State.HAND, "`nccl` is compared", "make it true for `hccl` too")
        return
    edits = (Edit(*match.span(1), word.encode()), Edit(start, end, b'("nccl", "hccl")'))
    yield file.rewrite(RULE, node, "`hccl` is treated like `nccl`", *edits, styles=WRITTEN_STYLES)


def _is_backend_argument(node: ast.Constant, file: PyFile) -> bool:
    parent = file.parent(node)
    if isinstance(parent, ast.keyword):
        return parent.arg is not None and parent.arg.endswith("backend")
    call = shapes.call_of(node, file)
    return call is not None and (file.name(call.func) or "").startswith("torch.distributed.")


def _is_registered(node: ast.Constant, file: PyFile) -> bool:
    """`@registry.register("nccl")`: the name of the class or function below, which stays what it is."""
    call = shapes.call_of(node, file)
    up = file.parent(call) if call is not None else None
    return isinstance(up, (ast.ClassDef, ast.FunctionDef)) and call in up.decorator_list


def _is_library(node: ast.Constant, file: PyFile) -> bool:
    for up in file.ancestors(node)[:3]:
        if isinstance(up, ast.keyword) and up.arg in _LIBRARY_KEYWORDS:
            return True
    call = shapes.call_of(node, file)
    return call is not None and shapes.last_word(call.func) in _LIBRARY_CALLS
