"""A variable of the environment that ModelArts does not set: the helper fills it from those that it sets.

The launcher sets `RANK_SIZE`, `RANK_ID` and `DEVICE_ID` (davincirunsdk, 2026-11-15).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

FILLED = {
    "DEVICE_NUM": "RANK_SIZE",
    "RANK": "RANK_ID",
    "WORLD_SIZE": "RANK_SIZE",
    "LOCAL_RANK": "DEVICE_ID",
    "MASTER_ADDR": "VC_WORKER_HOSTS",
}
RULE = Rule(
    id="MA110",
    name="unset-variable",
    summary="an environment variable that the platform does not set",
    keywords=("device_num", "world_size", "local_rank", "master_addr", "'rank'", '"rank"'),
)


def visit_Constant(node: ast.Constant, file: PyFile) -> Iterator[Finding]:
    name = node.value
    if not isinstance(name, str) or name not in FILLED or not _is_read(file, node):
        return
    message = f"the platform does not set `{name}`: the helper fills it from `{FILLED[name]}` when it is imported"
    yield file.report(RULE, node, State.BENIGN, message, subject=name)


def _is_read(file: PyFile, node: ast.Constant) -> bool:
    up = file.parent(node)
    if not isinstance(up, (ast.Call, ast.Subscript)):
        return False
    return file.text(up.func if isinstance(up, ast.Call) else up.value).endswith(("getenv", "environ.get", "environ"))
