"""The files of a program: its boot file and the modules of the same folder that it imports."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from jumar.core import read
from jumar.core.source import Source, UnreadableError
from jumar.migrate import project, walk
from jumar.migrate.passes.cloud import across, callers, helper, hooks
from jumar.migrate.pyfile import UNPARSABLE, parse
from jumar.migrate.result import FileResult, ProjectResult
from jumar.migrate.settings import Cloud, Settings

MAX_FILES = 200
_MANY = (b"num_shards", b"set_auto_parallel_context", b"DistributedSampler", b"init_process_group")
_DIVIDED = (b"num_shards", b"shard_id", b"DistributedSampler", b"DistributeSampler")


class Module(NamedTuple):
    """A file of the program, read and parsed once."""

    raw: bytes
    tree: ast.Module | None
    """None when it is not Python."""


def adapt(boot: Path, only: frozenset[str] = frozenset(), skip: frozenset[str] = frozenset()) -> ProjectResult:
    """Run the rules of `jumar cloud adapt` over a boot file and what it imports; nothing is written."""
    found = modules(boot)
    settings = Settings(only=only, skip=skip, cloud=_about(boot, found))
    results: list[FileResult] = []
    for path, module in found.items():
        result = project.migrate_bytes(path.as_posix(), module.raw, settings)
        if result is not None and (result.findings or result.changed):
            results.append(result)
    lines = sum(module.raw.count(b"\n") for module in found.values())
    return ProjectResult(walk.root([boot]), tuple(results), settings, len(found), lines)


def _about(boot: Path, found: dict[Path, Module]) -> Cloud:
    every = [item for module in found.values() if module.tree is not None for item in callers.calls(module.tree)]
    texts = [module.raw for module in found.values()]
    about = Cloud(
        boot.as_posix(),
        any(word in raw for raw in texts for word in _MANY),
        any(word in raw for raw in texts for word in _DIVIDED),
        callers.once(every),
        is_adapted=helper.NAME.encode() in found[boot].raw,
        has_parser=any(b"add_argument" in raw for raw in texts),
        modules=frozenset(_dotted(path, boot.parent) for path in found),
    )
    return across.known(about, [one for path, module in found.items() if (one := _text(path, module)) is not None])


def _dotted(path: Path, top: Path) -> str:
    """The name that an import gives to a file."""
    parts = Path(os.path.relpath(path, top)).with_suffix("").parts
    return ".".join(part for part in parts if part not in ("__init__", ".."))


def _text(path: Path, module: Module) -> across.Text | None:
    if module.tree is None:
        return None
    source = Source.from_bytes(path.as_posix(), module.raw, python=True)
    return across.Text(source, module.tree)


def modules(boot: Path) -> dict[Path, Module]:
    """The boot file first, then the modules it imports from its own folder, each once."""
    top = boot.parent
    found = {boot: _read(boot)}
    todo = [boot]
    while todo and len(found) < MAX_FILES:
        path = todo.pop(0)
        for other in _imported(path, found[path], top):
            if other not in found:
                found[other] = _read(other)
                todo.append(other)
    return {
        path: module
        for path, module in found.items()
        if path == boot or not hooks.wrote(Source(path.as_posix(), module.raw))
    }


def _read(path: Path) -> Module:
    raw = read.content(path)
    try:
        source = Source.from_bytes(path.as_posix(), raw, python=True)
        return Module(raw, parse(source.data, source.path))
    except (*UNPARSABLE, UnreadableError):
        return Module(raw, None)


def _imported(path: Path, module: Module, top: Path) -> Iterator[Path]:
    for node in ast.walk(module.tree) if module.tree is not None else ():
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
