"""What a single file needs of files beside it: modules it imports and configurations it names.

`jumar migrate train.py` changes `train.py` alone. If `config.yaml` still says `device: cuda`, or a module that it
imports still calls `.cuda()`, the new program fails there; so those files are looked at, and what they need is said.
"""

from __future__ import annotations

import ast
import os
import posixpath
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Optional

from jumar.core.finding import Finding, State
from jumar.core.source import Source, UnreadableError
from jumar.migrate.document import Document
from jumar.migrate.look import Text
from jumar.migrate.pyfile import UNPARSABLE, parse
from jumar.migrate.result import FileResult
from jumar.migrate.rule import ELSEWHERE
from jumar.migrate.settings import Settings
from jumar.migrate.walk import texts_at

MAX_FILES = 200
CONFIGS = (".yaml", ".yml", ".json", ".toml", ".cfg", ".ini")

Migrate = Callable[[str, bytes, Settings], Optional[FileResult]]


class Use(NamedTuple):
    """A file that is needed, and the place in the first file that leads to it."""

    path: str
    node: ast.stmt | ast.expr


def findings(text: Text, given: Sequence[Text], settings: Settings, migrate: Migrate) -> list[Finding]:
    """A finding for each file that `text` needs, that would change too, and that is not among the given ones."""
    source, tree = _parsed(text)
    if source is None or tree is None:
        return []
    known = {posixpath.normpath(one.path) for one in given}
    document = Document(source, settings)
    found: list[Finding] = []
    todo = list(_uses(tree, text.path))
    while todo and len(known) < MAX_FILES:
        use = todo.pop(0)
        if use.path in known:
            continue
        known.add(use.path)
        other = Text(use.path, texts_at([use.path])[use.path])
        changed = _first_change(migrate(other.path, other.raw, settings))
        if changed is not None:
            found.append(_finding(document, text, use, changed))
        if other.path.endswith(".py"):
            inner = _parsed(other)[1]
            todo += [Use(more.path, use.node) for more in _uses(inner, other.path)] if inner is not None else []
    return found


def _first_change(result: FileResult | None) -> Finding | None:
    """The first place that would change; an import that is only added tells nobody why."""
    made = [one for one in result.findings if one.edits and one.state is State.REWRITTEN] if result else []
    return next((one for one in made if any(edit.end > edit.start for edit in one.edits)), made[0] if made else None)


def _finding(document: Document, text: Text, use: Use, changed: Finding) -> Finding:
    line = changed.where.line if changed.where else 1
    name = os.path.relpath(use.path, posixpath.dirname(text.path) or ".")
    message = f"this file needs `{name}`, which is still for CUDA (line {line}: {changed.message})"
    fix = f"migrate them together: `jumar migrate {text.path} {use.path}`"
    return document.report(ELSEWHERE, use.node, State.HAND, message, fix, subject=name)


def _parsed(text: Text) -> tuple[Source | None, ast.Module | None]:
    try:
        source = Source.from_bytes(text.path, text.raw, python=True)
        return source, parse(source.data, text.path)
    except (UnreadableError, *UNPARSABLE):
        return None, None


def _uses(tree: ast.Module, path: str) -> Iterator[Use]:
    """The modules of the same project that a file imports, and the configurations beside it that it names."""
    folder = posixpath.dirname(path) or "."
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from (Use(found, node) for found in _module(alias.name, _roots(folder)))
        elif isinstance(node, ast.ImportFrom):
            roots = (
                [posixpath.normpath(posixpath.join(folder, *[".."] * (node.level - 1)))]
                if node.level
                else _roots(folder)
            )
            names = [node.module or "", *(f"{node.module or ''}.{alias.name}".strip(".") for alias in node.names)]
            for name in dict.fromkeys(filter(None, names)):
                yield from (Use(found, node) for found in _module(name, roots))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.endswith(CONFIGS):
            found = posixpath.normpath(posixpath.join(folder, node.value))
            if "\0" not in found and os.path.isfile(found):
                yield Use(found, node)


def _roots(folder: str) -> list[str]:
    """Where absolute imports of the project may start: the file's folder, and the folder above its packages."""
    top = folder
    while os.path.exists(posixpath.join(top, "__init__.py")) and posixpath.dirname(os.path.abspath(top)) != top:
        top = posixpath.normpath(posixpath.join(top, ".."))
    return list(dict.fromkeys((folder, top)))


def _module(name: str, roots: Sequence[str]) -> Iterator[str]:
    for root in roots:
        base = posixpath.join(root, *name.split("."))
        for path in (f"{base}.py", f"{base}/__init__.py"):
            if os.path.isfile(path):
                yield posixpath.normpath(path)
                return
