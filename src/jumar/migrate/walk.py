"""Finds the files of a project and reads each of them once; what their names tell about the project."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import overload

from jumar.core import read
from jumar.core.errors import UserError, meaning
from jumar.migrate import languages
from jumar.migrate.look import Text
from jumar.migrate.settings import Facts

HEAD = 200
"""As many bytes of a file as `languages.classify` wants to see."""
MAX_BYTES = 5_000_000
TOO_LARGE = f"it is larger than {MAX_BYTES // 1_000_000} MB"
SKIPPED_FOLDERS = {
    ".git", ".hg", ".svn", "__pycache__", ".venv", "venv", "node_modules", ".tox", ".nox", ".eggs",
    ".mypy_cache", ".ruff_cache", ".pytest_cache", ".ipynb_checkpoints",
}  # fmt: skip


def texts(paths: Iterable[Path]) -> Iterator[Text]:
    """Every file below the given paths that a language claims, in a stable order, each once."""
    roots = list(paths)
    inside = [os.path.realpath(path) for path in roots]
    for path in roots:
        if path.is_dir():
            yield from _below(path, inside)
        elif path.exists():
            read.check(path)
            yield _read(path.as_posix())
        else:
            raise UserError(f"no such file or folder: `{path}`", "check the spelling, or use `-` to read from stdin")


def texts_at(paths: Iterable[str]) -> dict[str, bytes]:
    """The texts of files by path; empty for what cannot be read."""
    return {path: _read(path).raw for path in paths}


def _below(top: Path, inside: Sequence[str]) -> Iterator[Text]:
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS)
        for name in sorted(names):
            path = os.path.join(folder, name)
            if "." in name and languages.classify(path) is None:
                continue
            if os.path.islink(path):
                if (problem := _circle(path)) and "." in name:
                    yield Text(Path(path).as_posix(), b"", problem)
                if problem or not _leads_out(path, inside):
                    continue
            # Opening a pipe would wait.
            if os.path.isfile(path):
                text = _read(Path(path).as_posix(), peek="." not in name)
                if text is not None:
                    yield text


@overload
def _read(path: str) -> Text: ...
@overload
def _read(path: str, *, peek: bool) -> Text | None: ...
def _read(path: str, *, peek: bool = False) -> Text | None:
    """The text of a file; `peek` looks at the `#!` line first, and gives None for what no language claims."""
    try:
        with open(path, "rb") as file:
            head = file.read(HEAD)
            if peek and languages.classify(path, head) is None:
                return None
            raw = head + file.read(MAX_BYTES + 1 - len(head))
    except OSError as error:
        return None if peek else Text(path, b"", meaning(error).reason)
    if len(raw) > MAX_BYTES:
        return Text(path, b"", TOO_LARGE)
    return Text(path, raw)


def _circle(link: str) -> str:
    """Why a link that leads to itself cannot be read; empty for every other one."""
    try:
        os.stat(link)
    except OSError as error:
        return meaning(error).reason if error.errno == errno.ELOOP else ""
    return ""


def _leads_out(link: str, inside: Sequence[str]) -> bool:
    """Does a link point outside all given paths? One that points inside is reached by its own name."""
    target = os.path.realpath(link)
    return not any(target == top or target.startswith(top + os.sep) for top in inside)


def root(paths: Sequence[Path]) -> str:
    """The folder that a copy of these paths mirrors."""
    folders = [path if path.is_dir() else path.parent for path in paths]
    if len(folders) == 1:
        return folders[0].as_posix()
    return Path(os.path.relpath(os.path.commonpath([folder.absolute() for folder in folders]))).as_posix()


def facts(paths: Sequence[Path], names: Iterable[str]) -> Facts:
    """What the names of a project's files tell about it as a whole."""
    modules = {name for path in paths if path.is_dir() for name in _top_modules(path)}
    return Facts(own_modules=frozenset(modules), packages=_packages(names))


def _packages(names: Iterable[str]) -> frozenset[str]:
    """The folders of the files, and those above them, that hold an `__init__.py`."""
    asked: dict[Path, bool] = {}
    for folder in {Path(name).parent for name in names if name.endswith(".py")}:
        while folder not in asked:
            asked[folder] = (folder / "__init__.py").exists()
            if not asked[folder] or folder == folder.parent:
                break
            folder = folder.parent
    return frozenset(folder.as_posix() for folder, is_package in asked.items() if is_package)


def _top_modules(folder: Path) -> Iterator[str]:
    for name in os.listdir(folder):
        if name.endswith(".py"):
            yield name.removesuffix(".py")
        elif name.isidentifier() and os.path.isdir(folder / name):
            yield name
