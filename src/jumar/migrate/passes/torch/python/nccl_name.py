"""Names of `torch.distributed` with NCCL in them: `Backend.NCCL`, `is_nccl_available`, `ProcessGroupNCCL`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding
from jumar.migrate.passes.torch import torch_rows
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule
from jumar.tables.torch_names import torch_name

RULE = Rule(
    id="PT151",
    name="nccl-name",
    summary="a name of torch.distributed that is about NCCL",
    keywords=("nccl", "_symmetric_memory"),
    roots=("torch",),
)
_PREFIX = "torch.distributed."


def visit_name(node: ast.expr, name: str, file: PyFile) -> Iterator[Finding]:
    row = torch_name(name) if name.startswith((_PREFIX, "torch._C._distributed")) else None
    if row is not None:
        yield from torch_rows.use(RULE, node, name, row, file)


def visit_ImportFrom(node: ast.ImportFrom, file: PyFile) -> Iterator[Finding]:
    yield from torch_rows.imported(RULE, node, file, _PREFIX)
