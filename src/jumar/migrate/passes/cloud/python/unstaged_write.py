"""A write whose path cannot be followed to its beginning: it stays where it is, and the report says so."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.passes.cloud import helper, options, paths, uses, written
from jumar.migrate.passes.cloud.paths import Paths, Root
from jumar.migrate.passes.cloud.uses import MAYBE, Use
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="MA112",
    name="unstaged-write",
    summary="a write that is not sent with the results",
    keywords=written.KEYWORDS,
)


def finish(file: PyFile) -> Iterator[Finding]:
    found = paths.of(file)
    if found.sends_itself:
        return
    for use in found.writes:
        if use.path is None or _is_helped(file, use.path) or written.is_handle(file, found, use.path):
            continue
        roots = found.roots(use.path)
        if use.what.startswith(MAYBE):
            unstaged = _looks_written(file, use, roots)
        else:
            unstaged = use.what in written.AT_ROOT and any(not _is_staged(file, found, use, root) for root in roots)
        if unstaged:
            yield _report(file, use)
    for call, command in uses.shell(file, found.flow.calls):
        message = f"the command `{command}` writes a file that is not sent with the results"
        fix = f"if it is a result, give it a path from `{helper.NAME}.write_path(...)`"
        yield file.report(RULE, call, State.HAND, message, fix, subject="command")


def _report(file: PyFile, use: Use) -> Finding:
    assert use.path is not None
    text = " ".join(file.text(use.path).split())
    what = use.what.removeprefix(MAYBE)
    message = f"`{what}` writes to `{text}`; Jumar cannot tell where that is, so it is not sent with the results"
    fix = f"if it is a result, write `{helper.NAME}.write_path({text})` where the path begins"
    return file.report(RULE, use.call, State.HAND, message, fix, subject=what)


def _is_helped(file: PyFile, node: ast.expr) -> bool:
    return helper.is_call(file, node) or helper.is_inside_call(file, node)


def _looks_written(file: PyFile, use: Use, roots: list[Root]) -> bool:
    """Does what the call is given look like a path, and does no part of it lie among the results?"""
    if any(root.kind == "helper" or _is_result_option(file, root) for root in roots):
        return False
    if use.what == f"{MAYBE}open":
        return True
    return any(root.kind == "literal" and root.name.strip() for root in roots) or _is_composed(file, use)


def _is_composed(file: PyFile, use: Use) -> bool:
    return isinstance(use.path, ast.Call) and (file.name(use.path.func) or "") in ("os.path.join", "pathlib.Path")


def _is_staged(file: PyFile, found: Paths, use: Use, root: Root) -> bool:
    if root.kind == "literal":
        return written.is_place(root, use) or not root.name.strip() or root.name.startswith("/dev/")
    if root.kind == "helper" or _is_result_option(file, root):
        return True
    if root.kind == "option" and written.is_setting(file, options.of(file).evidence, root):
        return True
    if use.what == "mkdir":
        return True
    return root.kind == "else" and (_is_passed(file, found, use) or isinstance(root.node, ast.Constant))


def _is_result_option(file: PyFile, root: Root) -> bool:
    line, cloud = options.of(file), file.settings.cloud
    if root.kind != "option" or cloud is None:
        return False
    if line.sites and not line.is_hidden:
        return line.kinds.get(root.name) == "results"
    said = line.evidence.get(root.name, frozenset())
    named = options.kind_of_name(root.name)
    if "fixed" in said and {"results", "option"} <= said and not said & {"data", "start", "word"}:
        return named in (None, "results")
    if isinstance(root.node, ast.Subscript):  # a dictionary from a file, which no parser stages
        return False
    return cloud.has_parser and (named == "results" or (named is None and {"results", "option"} <= said))


def _is_passed(file: PyFile, found: Paths, use: Use) -> bool:
    """Is the path a parameter that callers in other files give, where it is staged or reported?"""
    cloud = file.settings.cloud
    names = {_callable(file, var.owner) for var in found.parameters(use.path)}
    return cloud is not None and bool(names) and names <= set(cloud.writers)


def _callable(file: PyFile, function: ast.AST) -> str:
    up = file.parent(function)
    name = str(getattr(function, "name", ""))
    return up.name if name == "__init__" and isinstance(up, ast.ClassDef) else name
