"""A file or folder that the script writes: in a job it lies below the folder of the results."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding
from jumar.migrate import lines
from jumar.migrate.passes.cloud import helper, literals, options, paths
from jumar.migrate.passes.cloud.paths import Paths, Use
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="MA104",
    name="written-path",
    summary="a written path that no option sends to the results",
    keywords=(
        "save", "modelcheckpoint", "export", "summary", "filehandler", "imwrite", "open", "output", "out_", "result",
        "log",
    ),
)  # fmt: skip
MADE = ("directory", "log_dir", "logdir")
"""Keywords of callbacks that write into the working folder when they are not given."""


def finish(file: PyFile) -> Iterator[Finding]:
    found = paths.of(file)
    if found.sends_itself:
        return
    done: set[ast.AST] = set()
    for use in found.writes:
        if use.path is None:
            yield from _without_path(file, use)
            continue
        for node in _places(file, found, use):
            if node not in done:
                done.add(node)
                yield _wrapped(file, node, use.what)
    for literal in literals.named(file, found.flow.nodes):
        if literal.kind == "results" and literal.node not in done and not helper.is_inside_call(file, literal.node):
            done.add(literal.node)
            yield _wrapped(file, literal.node, literal.name)


def _places(file: PyFile, found: Paths, use: Use) -> Iterator[ast.expr]:
    """The expressions to wrap so that the path of a use lies below the results."""
    assert use.path is not None
    if helper.is_inside_call(file, use.path) or helper.is_call(file, use.path):
        return
    line = options.of(file)
    for root in found.roots(use.path):
        if root.kind == "literal":
            if literals.is_path(root.node) or (use.what != "open" and not root.name.startswith(("s3:", "/dev/"))):
                yield from _if_free(file, root.node)
        elif root.kind == "option" and line.sites and line.kinds.get(root.name) == "results":
            continue
        elif root.kind != "helper" and use.what != "open" and not _is_handle(file, found, use.path):
            yield from _if_free(file, use.path)


def _if_free(file: PyFile, node: ast.expr) -> Iterator[ast.expr]:
    if node not in file.lost and not helper.is_inside_call(file, node) and not isinstance(node, ast.Starred):
        yield node


def _is_handle(file: PyFile, found: Paths, node: ast.expr) -> bool:
    """Is this an open file or a buffer rather than a path?"""
    var = found.flow.var(node)
    bounds = found.flow.bounds.get(var, []) if var is not None else []
    if any(isinstance(bound.statement, (ast.With, ast.AsyncWith)) for bound in bounds):
        return True
    return any("BytesIO" in file.text(origin) or "open(" in file.text(origin) for origin in found.flow.origins(node))


def _wrapped(file: PyFile, node: ast.expr, what: str) -> Finding:
    new = file.replace(node, f"{helper.NAME}.write_path({file.text(node)})")
    message = f"with `--train_url`, `{what}` writes below it"
    return file.rewrite(RULE, node, message, new, needs=helper.NEEDS, subject=what)


def _without_path(file: PyFile, use: Use) -> Iterator[Finding]:
    if use.keyword not in MADE:
        return
    new = lines.add_argument(file, use.call, f"{use.keyword}={helper.NAME}.write_path(None)")
    if new is not None:
        message = f"`{use.what}` writes below `--train_url` if given, not into the working folder"
        yield file.rewrite(RULE, use.call, message, new, needs=helper.NEEDS, subject=use.what)
