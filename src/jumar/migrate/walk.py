"""Which files of a project are looked at, and what their names tell."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from jumar.core.errors import UserError
from jumar.migrate import languages
from jumar.migrate.settings import Facts

SKIPPED_FOLDERS = {
    ".git", ".hg", ".svn", "__pycache__", ".venv", "venv", "node_modules", ".tox", ".nox", ".eggs",
    ".mypy_cache", ".ruff_cache", ".pytest_cache", ".ipynb_checkpoints",
}  # fmt: skip


def files(paths: Iterable[Path]) -> Iterator[Path]:
    """Every file below the given paths that a language claims, in a stable order, each once."""
    roots = list(paths)
    inside = [os.path.realpath(path) for path in roots]
    for path in roots:
        if path.is_dir():
            yield from _below(path, inside)
        elif path.exists():
            yield path
        else:
            raise UserError(f"no such file or folder: `{path}`", "check the spelling, or use `-` to read from stdin")


def _below(top: Path, inside: Sequence[str]) -> Iterator[Path]:
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS)
        for name in sorted(names):
            path = os.path.join(folder, name)
            if languages.classify(path, b"" if "." in name else _head(path)) is None:
                continue
            if os.path.islink(path) and not _leads_out(path, inside):
                continue
            if os.path.isfile(path):
                yield Path(path)


def _leads_out(link: str, inside: Sequence[str]) -> bool:
    """Does a link point outside all given paths? One that points inside is reached by its own name."""
    target = os.path.realpath(link)
    return not any(target == top or target.startswith(top + os.sep) for top in inside)


def _head(path: str) -> bytes:
    """The first bytes of a file without suffix: its `#!` line may say what it is. Opening a pipe would wait."""
    if not os.path.isfile(path):
        return b""
    try:
        with open(path, "rb") as file:
            return file.read(200)
    except OSError:
        return b""


def root(paths: Sequence[Path]) -> str:
    """The folder that a copy of these paths mirrors."""
    folders = [path if path.is_dir() else path.parent for path in paths]
    if len(folders) == 1:
        return folders[0].as_posix()
    return Path(os.path.relpath(os.path.commonpath([folder.absolute() for folder in folders]))).as_posix()


def facts(paths: Sequence[Path], names: Iterable[Path]) -> Facts:
    """What the names of a project's files tell about it as a whole."""
    modules = {name for path in paths if path.is_dir() for name in _top_modules(path)}
    return Facts(own_modules=frozenset(modules), packages=_packages(names))


def _packages(names: Iterable[Path]) -> frozenset[str]:
    """The folders of the files, and those above them, that hold an `__init__.py`."""
    asked: dict[Path, bool] = {}
    for folder in {name.parent for name in names if name.suffix == ".py"}:
        while folder not in asked:
            asked[folder] = (folder / "__init__.py").exists()
            if not asked[folder] or folder == folder.parent:
                break
            folder = folder.parent
    return frozenset(folder.as_posix() for folder, is_package in asked.items() if is_package)


def _top_modules(folder: Path) -> Iterator[str]:
    for entry in os.scandir(folder):
        if entry.name.endswith(".py"):
            yield entry.name.removesuffix(".py")
        elif entry.is_dir() and entry.name.isidentifier():
            yield entry.name
