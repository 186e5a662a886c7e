"""The files of a program: its boot file and the modules of the same folder that it imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from jumar.core.errors import UserError
from jumar.core.source import Source, UnreadableError
from jumar.migrate import project, walk
from jumar.migrate.passes.cloud import callers, hooks
from jumar.migrate.pyfile import parse
from jumar.migrate.result import FileResult, ProjectResult
from jumar.migrate.settings import Cloud, Settings

MAX_FILES = 200
_MANY = (b"num_shards", b"set_auto_parallel_context", b"DistributedSampler", b"init_process_group")
_DIVIDED = (b"num_shards", b"shard_id", b"DistributedSampler", b"DistributeSampler")


def adapt(boot: Path, only: frozenset[str] = frozenset(), skip: frozenset[str] = frozenset()) -> ProjectResult:
    """Run the rules of `jumar cloud adapt` over a boot file and what it imports; nothing is written."""
    texts = files(boot)
    settings = Settings(only=only, skip=skip, cloud=_about(boot, texts))
    results: list[FileResult] = []
    for path, raw in texts.items():
        result = project.migrate_bytes(path.as_posix(), raw, settings)
        if result is not None and (result.findings or result.changed):
            results.append(result)
    lines = sum(raw.count(b"\n") for raw in texts.values())
    return ProjectResult(walk.root([boot]), tuple(results), settings, len(texts), lines)


def _about(boot: Path, texts: dict[Path, bytes]) -> Cloud:
    every = [
        item for path, raw in texts.items() if (tree := _tree(path, raw)) is not None for item in callers.calls(tree)
    ]
    return Cloud(
        boot.as_posix(),
        any(word in raw for raw in texts.values() for word in _MANY),
        any(word in raw for raw in texts.values() for word in _DIVIDED),
        callers.once(every),
    )


def files(boot: Path) -> dict[Path, bytes]:
    """The boot file first, then the modules it imports from its own folder, each once."""
    top = boot.parent
    found = {boot: _read(boot)}
    todo = [boot]
    while todo and len(found) < MAX_FILES:
        path = todo.pop(0)
        for module in _imported(path, found[path], top):
            if module not in found:
                found[module] = _read(module)
                todo.append(module)
    return {path: raw for path, raw in found.items() if path == boot or not hooks.wrote(Source(path.as_posix(), raw))}


def _tree(path: Path, raw: bytes) -> ast.Module | None:
    try:
        source = Source.from_bytes(path.as_posix(), raw, python=True)
        return parse(source.data, source.path)
    except (SyntaxError, ValueError, RecursionError, UnreadableError):
        return None


def _imported(path: Path, raw: bytes, top: Path) -> Iterator[Path]:
    tree = _tree(path, raw)
    for node in ast.walk(tree) if tree is not None else ():
        names: list[str] = []
        folder = top
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            folder = _above(path, node.level, top)
            base = f"{node.module}." if node.module else ""
            names = [node.module] if node.module else []
            names += [f"{base}{alias.name}" for alias in node.names]
        for name in names:
            yield from _module(folder, name)


def _above(path: Path, level: int, top: Path) -> Path:
    folder = path.parent if level else top
    for _ in range(level - 1):
        folder = folder.parent
    return folder


def _module(folder: Path, name: str) -> Iterator[Path]:
    base = folder.joinpath(*name.split("."))
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            yield path


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read `{path}`: {error.strerror}") from error
