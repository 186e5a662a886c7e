"""`torch.backends.cudnn` and `torch.backends.cuda`: mostly without effect on NPUs, a few with a counterpart."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.passes.torch import torch_rows
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule
from jumar.tables.torch_names import torch_name

RULE = Rule(
    id="PT160",
    name="torch-backends",
    summary="a setting of torch.backends.cudnn or torch.backends.cuda",
    keywords=("cudnn", "backends.cu", "allow_tf32", "sdp_kernel", "cusparselt"),
    roots=("torch",),
)
_PREFIX = "torch.backends.cu"


def visit_name(node: ast.expr, name: str, file: PyFile) -> Iterator[Finding]:
    row = torch_name(name) if name.startswith(_PREFIX) else None
    if row is None:
        return
    if row.npu is not None and _is_no_bool(node, file):
        fix = f"give `{row.npu}` True or False"
        yield file.report(RULE, node, State.HAND, f"`{name}` becomes `{row.npu}`", fix, subject=name)
        return
    yield from torch_rows.use(RULE, node, name, row, file)


def visit_ImportFrom(node: ast.ImportFrom, file: PyFile) -> Iterator[Finding]:
    yield from torch_rows.imported(RULE, node, file, _PREFIX)


def visit_Import(node: ast.Import, file: PyFile) -> Iterator[Finding]:
    for alias in node.names:
        if alias.name.startswith(_PREFIX):
            yield file.report(RULE, alias, State.BENIGN, f"`{alias.name}` imports on any machine")


def _is_no_bool(node: ast.expr, file: PyFile) -> bool:
    """Is a constant assigned that torch_npu refuses because it is not a bool?"""
    up = file.parent(node)
    return isinstance(up, ast.Assign) and isinstance(up.value, ast.Constant) and not isinstance(up.value.value, bool)
