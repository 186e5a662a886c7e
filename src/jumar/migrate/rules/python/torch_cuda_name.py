"""`torch.cuda.…` used in code: renamed by the table, or reported where torch_npu has nothing of the kind."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate import targets
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule
from jumar.tables.apis import cuda_row

RULE = Rule(
    id="PT102",
    name="torch-cuda-name",
    summary="a name of torch.cuda",
    keywords=("cuda",),
    roots=("torch",),
)


def visit_name(node: ast.expr, name: str, file: PyFile) -> Iterator[Finding]:
    if name != "torch.cuda" and not name.startswith("torch.cuda."):
        return
    row = cuda_row(name)
    new = targets.new_name(row, file)
    if new is None:
        yield file.report(RULE, node, State.UNSUPPORTED, f"`{name}` has no counterpart: {row.note}", subject=name)
        return
    change = targets.rename(file, node, name, new)
    if change is None:
        yield file.report(RULE, node, State.HAND, f"`{name}` becomes `{new}`", f"write `{new}` here", subject=name)
        return
    yield file.rewrite(RULE, node, f"`{name}` becomes `{new}`", *change.edits, needs=change.needs, subject=name)
