"""Which written paths move below the results, and which stay where they are."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Iterator, Mapping

from jumar.migrate.passes.cloud import helper, judged, literals
from jumar.migrate.passes.cloud.paths import Paths, Root
from jumar.migrate.passes.cloud.uses import Use
from jumar.migrate.pyfile import PyFile

KEYWORDS = (
    "save", "modelcheckpoint", "export", "summary", "filehandler", "imwrite", "open", "output", "out_", "result", "log",
    "mkdir", "makedirs", "write", "dump", "to_", "tofile", "rename", "replace", "copy", "move", "touch", "profiler",
    "trainer", "trainingarguments", "memmap", "connect", "shelve", "make_archive", "system", "popen", "subprocess",
)  # fmt: skip
AT_ROOT = ("open", "mkdir", "touch", "write_text", "write_bytes")
"""Calls whose path is read elsewhere too as a rule, so it moves only where it begins."""
_ELSEWHERE = ("s3:", "obs:", "/dev/", "/proc/", "/sys/", "http:", "https:", ":memory:", "file:")
_PATH_CALLS = ("os.", "shutil.", "glob.", "pathlib.")


def is_place(root: Root, use: Use) -> bool:
    """Is this literal the beginning of a path on the local disk?"""
    if root.name.startswith(_ELSEWHERE) or not root.name.strip():
        return False
    return use.what != "open" or literals.is_text(root.node) or not isinstance(root.node, ast.Constant)


def is_folder(file: PyFile, found: Paths, root: Root) -> bool:
    """Is this folder made for results? Not if its name speaks of data, or if data is read from it."""
    if root.name.startswith(_ELSEWHERE) or judged.is_data(root.name) or _norm(root.name) in ("", "."):
        return False
    kept = _norm(root.name)
    read = {one.name for use in found.reads for one in found.roots(use.path) if one.kind == "literal"}
    wrote = {one.name for use in found.writes for one in found.roots(use.path) if one.kind == "literal"}
    return not any(_is_below(name, kept) for name in read) or any(_is_below(name, kept) for name in wrote)


def is_setting(file: PyFile, evidence: Mapping[str, frozenset[str]], root: Root) -> bool:
    """Is this a setting from a file, which no parser stages, and is it used for nothing but results?"""
    cloud, said = file.settings.cloud, evidence.get(root.name, frozenset())
    if cloud is None or cloud.has_parser or "fixed" in said:
        return False
    return {"results", "option"} <= said and not said & {"data", "start", "word"}


def below(file: PyFile, found: Paths, wrapped: set[ast.AST]) -> Iterator[ast.expr]:
    """Further literals that name what has moved: `"ckpt/best.pt"`, when the folder `ckpt` is among the results."""
    tops = {_norm(node.value) for node in wrapped if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    tops |= {_norm(name) for name in _moved(file, found)}
    read = {root.node for use in found.reads for root in found.roots(use.path) if literals.is_path(root.node)}
    for node in found.flow.nodes if tops - {"", "."} else ():
        if not isinstance(node, (ast.Constant, ast.JoinedStr)) or node in wrapped or node in read or node in file.lost:
            continue
        text = _beginning(node)
        is_named = any(_is_below(text, top) for top in tops if top not in ("", "."))
        if is_named and _is_path(file, node, text) and not helper.is_inside_call(file, node):
            yield node


def is_handle(file: PyFile, found: Paths, node: ast.expr) -> bool:
    """Is this an open file or a buffer rather than a path?"""
    var = found.flow.var(node)
    bounds = found.flow.bounds.get(var, []) if var is not None else []
    if any(isinstance(bound.statement, (ast.With, ast.AsyncWith)) for bound in bounds):
        return True
    return any("IO(" in file.text(origin) or "open(" in file.text(origin) for origin in found.flow.origins(node))


def _moved(file: PyFile, found: Paths) -> Iterator[str]:
    """What an earlier run has wrapped."""
    for call in found.flow.calls:
        if helper.is_call(file, call, "write_path") and call.args and isinstance(call.args[0], ast.Constant):
            yield str(call.args[0].value or "")


def _is_path(file: PyFile, node: ast.expr, text: str) -> bool:
    up = file.parent(node)
    if isinstance(up, (ast.Assign, ast.AnnAssign, ast.keyword)):
        return "/" in text
    if isinstance(up, ast.BinOp):
        return "/" in text and up.left is node
    if not isinstance(up, ast.Call) or up.func is node or node not in up.args:
        return False
    name = file.name(up.func) or ""
    return "/" in text or (name.startswith(_PATH_CALLS) and (name != "os.path.join" or up.args[0] is node))


def _beginning(node: ast.expr) -> str:
    first = node.values[0] if isinstance(node, ast.JoinedStr) and node.values else node
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""


def _norm(text: str) -> str:
    return posixpath.normpath(text.replace("\\", "/")) if text else ""


def _is_below(text: str, top: str) -> bool:
    return _norm(text) == top or _norm(text).startswith(top + "/")
