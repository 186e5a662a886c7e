"""Other names of torch that only mean something with CUDA: `torch.version.cuda`, `emit_nvtx`, `load_inline`, …"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate import torch_rows
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule
from jumar.tables.torch_names import torch_name

RULE = Rule(
    id="PT161",
    name="torch-cuda-aside",
    summary="a name of torch outside torch.cuda that is about CUDA",
    keywords=("cuda", "cudnn", "nvtx", "nvprof", "float32_matmul", "cpp_extension", "dlpack", "collect_env"),
    roots=("torch",),
)
_OTHERS = ("torch.backends.cu", "torch.distributed.")
_TEXT_CALLS = {"print", "debug", "info", "warning", "warn", "error", "log", "write", "format"}


def visit_name(node: ast.expr, name: str, file: PyFile) -> Iterator[Finding]:
    row = torch_name(name) if not name.startswith(_OTHERS) else None
    if row is None:
        return
    if name == "torch.version.cuda" and _is_shown(node, file):
        yield file.report(RULE, node, State.BENIGN, "`torch.version.cuda` prints None on an NPU machine", subject=name)
        return
    yield from torch_rows.use(RULE, node, name, row, file)


def visit_ImportFrom(node: ast.ImportFrom, file: PyFile) -> Iterator[Finding]:
    yield from torch_rows.imported(RULE, node, file, "torch.", but=_OTHERS)


def _is_shown(node: ast.expr, file: PyFile) -> bool:
    """Is the value only printed or logged?"""
    up = file.parent(node)
    if isinstance(up, ast.FormattedValue):
        return True
    if not isinstance(up, ast.Call) or node is up.func:
        return False
    return (up.func.attr if isinstance(up.func, ast.Attribute) else getattr(up.func, "id", "")) in _TEXT_CALLS
