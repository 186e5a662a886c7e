"""Other names of torch that only mean something with CUDA: `torch.version.cuda`, `emit_nvtx`, `load_inline`, …"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.compat import MatchValue
from jumar.core.finding import Finding, State
from jumar.migrate.passes.torch import shapes, torch_rows
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule, Site
from jumar.tables.torch_names import torch_name

RULE = Rule(
    id="PT161",
    name="torch-cuda-aside",
    summary="a name of torch outside torch.cuda that is about CUDA",
    keywords=(
        "cuda",
        "cudnn",
        "nvtx",
        "nvprof",
        "float32_matmul",
        "cpp_extension",
        "dlpack",
        "collect_env",
        "channels_last",
    ),
    roots=("torch",),
    site=Site.NAME,
)
_SHOWING = {"print", "info", "debug", "warning", "log", "format", "str"}
_OTHER_CARDS = ("intel_extension_for_pytorch", "habana_frameworks", "torch_xla", "openvino")
_OTHERS = ("torch.backends.cu", "torch.distributed.")


def visit_name(node: ast.expr, name: str, file: PyFile) -> Iterator[Finding]:
    row = torch_name(name) if not name.startswith(_OTHERS) else None
    if row is None:
        return
    if name == "torch.version.cuda" and _is_shown(node, file):
        yield file.report(RULE, node, State.BENIGN, "`torch.version.cuda` prints None on an NPU machine", subject=name)
        return
    if row.npu == "torch.contiguous_format" and _is_question(node, file):
        message = f"`{name}` stays: the layout is asked for, not made"
        yield file.report(RULE, node, State.BENIGN, message, subject=name)
        return
    if row.npu == "torch.contiguous_format" and any(map(file.imports, _OTHER_CARDS)):
        message = f"`{name}` stays: this file is for the hardware of another vendor"
        yield file.report(RULE, node, State.BENIGN, message, subject=name)
        return
    yield from torch_rows.use(RULE, node, name, row, file)


def visit_ImportFrom(node: ast.ImportFrom, file: PyFile) -> Iterator[Finding]:
    yield from torch_rows.imported(RULE, node, file, "torch.", but=_OTHERS)


def _is_shown(node: ast.expr, file: PyFile) -> bool:
    """Is the value only printed or logged?"""
    up = file.parent(node)
    call = shapes.call_of(node, file)
    return isinstance(up, ast.FormattedValue) or (call is not None and shapes.last_word(call.func) in _SHOWING)


def _is_question(node: ast.expr, file: PyFile) -> bool:
    """`x.is_contiguous(memory_format=…)`, `layout == torch.channels_last`: also as one of several values."""
    at: ast.AST = node
    up = file.parent(at)
    while isinstance(up, (ast.Tuple, ast.List, ast.Set, ast.IfExp)) and at is not getattr(up, "test", None):
        at, up = up, file.parent(up)
    if isinstance(up, (ast.Compare, MatchValue)):
        return True
    call = shapes.call_of(at, file)
    return call is not None and shapes.last_word(call.func).startswith(("is_", "has_", "assert"))
