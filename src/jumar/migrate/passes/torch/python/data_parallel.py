"""`torch.nn.DataParallel`: one process for several cards, which torch_npu does not support."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="PT172",
    name="data-parallel",
    summary="torch.nn.DataParallel, which NPUs do not support",
    keywords=("dataparallel", "data_parallel"),
    roots=("torch",),
)
_NAMES = {
    "torch.nn.DataParallel",
    "torch.nn.parallel.DataParallel",
    "torch.nn.parallel.data_parallel.DataParallel",
    "torch.nn.parallel.data_parallel",
    "torch.nn.parallel.data_parallel.data_parallel",
}


def visit_name(node: ast.expr, name: str, file: PyFile) -> Iterator[Finding]:
    if name not in _NAMES:
        return
    up = file.parent(node)
    if isinstance(up, ast.Call) and up.func is not node and getattr(up.func, "id", "") == "isinstance":
        message = f"`{name}` never wraps a model on NPUs, so this is False"
        yield file.report(RULE, node, State.BENIGN, message, subject=name)
        return
    fix = "run one process per card with `torchrun` and wrap the model in `DistributedDataParallel`: see `--multi-card`"
    message = f"`{name}` drives several cards from one process, which torch_npu does not support"
    yield file.report(RULE, node, State.UNSUPPORTED, message, fix, subject=name)
