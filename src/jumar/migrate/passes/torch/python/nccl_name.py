"""Names of `torch.distributed` with NCCL in them: `Backend.NCCL`, `is_nccl_available`, `ProcessGroupNCCL`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.edit import Edit
from jumar.core.finding import Finding
from jumar.migrate.passes.torch import targets, torch_rows
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule, Site
from jumar.tables.torch_names import torch_name

RULE = Rule(
    id="PT151",
    name="nccl-name",
    summary="a name of torch.distributed that is about NCCL",
    keywords=("nccl", "_symmetric_memory"),
    roots=("torch",),
    site=Site.NAME,
)
_QUESTION = "torch.distributed.is_nccl_available"
_PREFIX = "torch.distributed."


def visit_name(node: ast.expr, name: str, file: PyFile) -> Iterator[Finding]:
    row = torch_name(name) if name.startswith((_PREFIX, "torch._C._distributed")) else None
    if row is None:
        return
    call = file.parent(node)
    if (
        name == _QUESTION
        and targets.is_agnostic(file)
        and isinstance(call, ast.Call)
        and isinstance(node, ast.Attribute)
    ):
        yield _both(node, call, file)
    else:
        yield from torch_rows.use(RULE, node, name, row, file)


def _both(node: ast.Attribute, call: ast.Call, file: PyFile) -> Finding:
    """The question for any device: torch has `is_hccl_available` only once torch_npu is loaded."""
    (start, end), module = file.source.span(call), file.text(node.value)
    other = f' or getattr({module}, "is_hccl_available", bool)())'
    message = "`is_hccl_available` is asked beside `is_nccl_available`"
    return file.rewrite(
        RULE, node, message, Edit(start, start, b"("), Edit(end, end, other.encode()), subject=_QUESTION
    )


def visit_ImportFrom(node: ast.ImportFrom, file: PyFile) -> Iterator[Finding]:
    yield from torch_rows.imported(RULE, node, file, _PREFIX)
