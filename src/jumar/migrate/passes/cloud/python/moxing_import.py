"""A script that copies with MoXing itself: the helper replaces it, so that the script works without MoXing.

With the helper, local folders (today's contract) are linked instead of copied, and a node downloads once.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.passes.cloud.helper import NAME
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(id="MA103", name="moxing-import", summary="an import of MoXing", keywords=("moxing",))
FILE_MODULES = {"moxing", "moxing.framework"}


def visit_Import(node: ast.Import, file: PyFile) -> Iterator[Finding]:
    alias = next((alias for alias in node.names if alias.name.split(".")[0] == "moxing"), None)
    if alias is None:
        return
    if len(node.names) > 1 or alias.name != "moxing":
        yield _by_hand(file, node)
        return
    local = f" as {alias.asname}" if alias.asname else ""
    yield _rewritten(file, node, f"from {NAME} import moxing{local}")


def visit_ImportFrom(node: ast.ImportFrom, file: PyFile) -> Iterator[Finding]:
    if node.level or (node.module or "").split(".")[0] != "moxing":
        return
    if node.module not in FILE_MODULES or [alias.name for alias in node.names] != ["file"]:
        yield _by_hand(file, node)
        return
    local = f" as {node.names[0].asname}" if node.names[0].asname else ""
    yield _rewritten(file, node, f"from {NAME} import file{local}")


def _rewritten(file: PyFile, node: ast.stmt, new: str) -> Finding:
    message = "the helper's `moxing` works without MoXing, links local folders and downloads once per node"
    return file.rewrite(RULE, node, message, file.replace(node, new), subject="moxing")


def _by_hand(file: PyFile, node: ast.stmt) -> Finding:
    fix = f"write `from {NAME} import moxing` and use `moxing.file`"
    return file.report(RULE, node, State.HAND, "this import needs MoXing", fix, "moxing")
