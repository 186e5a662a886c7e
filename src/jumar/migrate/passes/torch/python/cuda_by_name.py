"""`getattr(torch, "cuda")`, `hasattr(x, "is_cuda")`: an attribute looked up by its name as a string."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.passes.torch import targets
from jumar.migrate.passes.torch.styles.change import respell
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule
from jumar.migrate.settings import Style

RULE = Rule(
    id="PT109",
    name="cuda-by-name",
    summary="a CUDA attribute looked up by name",
    keywords=("getattr", "hasattr", "setattr", "delattr", "methodcaller", "attrgetter"),
    beside=("cuda", '"cu"', "'cu'"),
)
_LOOKUPS = {"getattr", "hasattr"}
_OTHERS = {"setattr", "delattr", "methodcaller", "attrgetter"}


def visit_Call(node: ast.Call, file: PyFile) -> Iterator[Finding]:
    func = node.func
    called = func.id if isinstance(func, ast.Name) else func.attr if isinstance(func, ast.Attribute) else ""
    if called not in _LOOKUPS and called not in _OTHERS:
        return
    at = 0 if called in ("methodcaller", "attrgetter") else 1
    if len(node.args) <= at:
        return
    named, owner = node.args[at], node.args[0]
    if not isinstance(named, ast.Constant) or not isinstance(named.value, str):
        return
    dotted = f"{file.name(owner) or ''}.{named.value}"
    if dotted.startswith("torch.cuda."):
        yield from _of_torch_cuda(named, dotted, file)
    elif named.value in ("cuda", "is_cuda"):
        yield _plain(named, dotted, called in _LOOKUPS, file)


def _of_torch_cuda(named: ast.Constant, dotted: str, file: PyFile) -> Iterator[Finding]:
    """`getattr(torch.cuda, "CUDAGraph")`: the first argument moves, so the name must exist there."""
    row = targets.row_for(dotted, file)
    last = dotted.rpartition(".")[2]
    if row.npu is None or row.npu.rpartition(".")[2] != last:
        fix = row.note or f"the name is `{row.npu}` on an NPU"
        yield file.report(RULE, named, State.HAND, f"`{dotted}` is looked up by name", fix, dotted)


def _plain(named: ast.Constant, dotted: str, is_lookup: bool, file: PyFile) -> Finding:
    what = f'"{dotted.rpartition(".")[2]}" is looked up by name'
    fix = f'look up "{"npu" if named.value == "cuda" else "is_npu"}" if this is torch, a tensor or a module'
    if file.settings.to is Style.IMPORT:
        return file.rewrite(RULE, named, what + " and found at run time, by `transfer_to_npu`")
    if file.settings.to is Style.AGNOSTIC and dotted == "torch.cuda":
        return file.report(RULE, named, State.HAND, what, "use the module `jumar_device` instead")
    sure = is_lookup and (dotted == "torch.cuda" or named.value == "is_cuda")
    edits = respell(file, named, "cuda", "npu") if sure and file.settings.to is Style.NPU else None
    if edits is None:
        return file.report(RULE, named, State.HAND, what, fix)
    return file.rewrite(RULE, named, what, *edits, needs=targets.style(file).needs(file))
