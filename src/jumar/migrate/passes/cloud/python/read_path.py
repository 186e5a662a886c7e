"""A fixed path that the script reads: in a job it is looked for in the fetched data, then beside the script."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding
from jumar.migrate.passes.cloud import helper, literals, options, paths
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="MA105",
    name="read-path",
    summary="a fixed path that is read",
    keywords=("dataset", "load", "open", "data", "read_csv", "pretrain", "config", "cfg", "resume", "mnist", "cifar"),
)


def finish(file: PyFile) -> Iterator[Finding]:
    found = paths.of(file)
    written = {root.node for use in found.writes for root in found.roots(use.path)}
    named = literals.named(file, found.flow.nodes)
    written |= {literal.node for literal in named if literal.kind == "results"}
    done: set[ast.AST] = set()
    for node, what in [
        *((root.node, use.what) for use in found.reads for root in found.roots(use.path) if root.kind == "literal"),
        *((literal.node, literal.name) for literal in named if literal.kind != "results"),
    ]:
        fits = literals.is_path(node) or isinstance(node, ast.JoinedStr)
        if not fits or node in done or node in written or node in file.lost or helper.is_inside_call(file, node):
            continue
        done.add(node)
        new = file.replace(node, f"{helper.NAME}.read_path({file.text(node)})")
        message = f"`{what}` is searched in the job's data, then beside the script"
        yield file.rewrite(RULE, node, message, new, needs=helper.NEEDS, subject=what)
    for place, name in _settings(file):
        new = file.replace(place, f"{helper.NAME}.read_path({file.text(place)})")
        message = f"the file that `--{name}` names is searched beside the script, because a job starts elsewhere"
        yield file.rewrite(RULE, place, message, new, needs=helper.NEEDS, subject=name)


def _settings(file: PyFile) -> Iterator[tuple[ast.expr, str]]:
    """Where a file is opened that an option names before all options are known: the one with their defaults."""
    found, line = paths.of(file), options.of(file)
    for use in found.reads if line.looks_first else ():
        if use.what != "open" or use.path is None or helper.is_inside_call(file, use.path):
            continue
        names = [root.name for root in found.roots(use.path) if root.kind == "option"]
        name = next((one for one in names if options.kind_of_name(one) == "config"), None)
        if name is not None and not any(root.kind == "helper" for root in found.roots(use.path)):
            yield use.path, name
