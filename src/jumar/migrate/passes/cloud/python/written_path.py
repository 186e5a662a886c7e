"""A file or folder that the script writes: in a job it lies below the folder of the results."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding
from jumar.migrate import lines
from jumar.migrate.passes.cloud import helper, literals, options, paths, written
from jumar.migrate.passes.cloud.paths import Paths
from jumar.migrate.passes.cloud.uses import MAYBE, Use
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="MA104",
    name="written-path",
    summary="a written path that no option sends to the results",
    keywords=written.KEYWORDS,
)
MADE = ("directory", "log_dir", "logdir", "default_root_dir")
"""Keywords of callbacks that write into the working folder when they are not given."""


def finish(file: PyFile) -> Iterator[Finding]:
    found = paths.of(file)
    if found.sends_itself:
        return
    done: set[ast.AST] = set()
    for use in found.writes:
        if use.path is None:
            yield from _without_path(file, use)
    for node, what in _nodes(file, found):
        if node not in done:
            done.add(node)
            yield _wrapped(file, node, what)
    for node in written.below(file, found, done):
        yield _wrapped(file, node, "this path")


def _nodes(file: PyFile, found: Paths) -> Iterator[tuple[ast.expr, str]]:
    for use in found.writes:
        if use.path is not None and not use.what.startswith(MAYBE):
            yield from ((node, use.what) for node in _places(file, found, use))
    for use in found.folders:
        for root in found.roots(use.path):
            is_setting = root.kind == "option" and written.is_setting(file, options.of(file).evidence, root)
            if is_setting or (root.kind == "literal" and written.is_folder(file, found, root)):
                yield from ((node, use.what) for node in _if_free(file, root.node))
    for literal in literals.named(file, found.flow.nodes):
        if literal.kind == "results" and not helper.is_inside_call(file, literal.node):
            yield literal.node, literal.name


def _places(file: PyFile, found: Paths, use: Use) -> Iterator[ast.expr]:
    """The expressions to wrap so that the path of a use lies below the results."""
    assert use.path is not None
    if helper.is_inside_call(file, use.path) or helper.is_call(file, use.path):
        return
    line = options.of(file)
    for root in found.roots(use.path):
        if root.kind == "literal":
            if written.is_place(root, use):
                yield from _if_free(file, root.node)
        elif root.kind == "option" and line.sites and line.kinds.get(root.name) == "results":
            continue
        elif root.kind == "option" and use.what in written.AT_ROOT and written.is_setting(file, line.evidence, root):
            yield from _if_free(file, root.node)
        elif root.kind != "helper" and use.what not in written.AT_ROOT and not written.is_handle(file, found, use.path):
            yield from _if_free(file, use.path)


def _if_free(file: PyFile, node: ast.expr) -> Iterator[ast.expr]:
    if node not in file.lost and not helper.is_inside_call(file, node) and not isinstance(node, ast.Starred):
        yield node


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
