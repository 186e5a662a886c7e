"""Which framework a program is written for, from its text: `jumar run` prepares what that one needs.

The modules that lie beside a script are read too: many training scripts import the framework in a module of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from jumar.core import read
from jumar.core.errors import UserError

MINDSPORE, TORCH = "mindspore", "torch"
_IMPORT = re.compile(rb"^[ \t]*(?:import|from)[ \t]+(\.*[\w.]*)(?:[ \t]+import[ \t]+\(?([\w, \t]+))?", re.MULTILINE)
_PROGRAMS = {"msrun": MINDSPORE, "msrun.py": MINDSPORE, "torchrun": TORCH}
_MOST_FILES = 200


def framework(words: Sequence[str], folder: Path) -> str | None:
    """The framework that the words of `jumar run` ask for; None if the text names none."""
    rest = [word for word in words if not word.startswith("-") or word in ("-m", "-c")]
    if not rest:
        return None
    if rest[0] == "-c":
        return _named(rest[1].encode() if len(rest) > 1 else b"")
    if rest[0] == "-m":
        module = rest[1] if len(rest) > 1 else ""
        package = module.split(".")[0]
        return package if package in (MINDSPORE, TORCH) else _in_files(_modules(folder, folder, module))
    if (name := Path(rest[0]).name) in _PROGRAMS:
        return _PROGRAMS[name]
    script = folder / rest[0]
    return _in_files([script]) if script.suffix == ".py" else None


def _in_files(first: list[Path]) -> str | None:
    """The nearest file that names a framework decides."""
    waiting, seen = list(first), set(first)
    while waiting and len(seen) <= _MOST_FILES:
        path = waiting.pop(0)
        try:
            text = read.content(path)
        except UserError:
            continue
        if found := _named(text):
            return found
        new = [file for file in _imported(text, path, first[0].parent) if file not in seen]
        waiting += new
        seen.update(new)
    return None


def _named(text: bytes) -> str | None:
    packages = {match[1].split(b".")[0].decode() for match in _IMPORT.finditer(text)}
    return next((name for name in (MINDSPORE, TORCH) if name in packages), None)


def _imported(text: bytes, path: Path, root: Path) -> Iterator[Path]:
    for match in _IMPORT.finditer(text):
        module = match[1].decode()
        names = [name.split()[0] for name in (match[2] or b"").decode().split(",") if name.split()]
        yield from _modules(path.parent, root, module)
        for name in names:
            yield from _modules(
                path.parent, root, f"{module.rstrip('.')}.{name}" if module.strip(".") else module + name
            )


def _modules(here: Path, root: Path, module: str) -> list[Path]:
    """The files of a module that lies beside the program, if it does."""
    bare = module.lstrip(".")
    dots = len(module) - len(bare)
    start = here.joinpath(*[".."] * (dots - 1)) if dots else root
    place = start.joinpath(*filter(None, bare.split(".")))
    found = (place.with_suffix(".py") if bare else place / "__init__.py", place / "__init__.py")
    return [path for path in dict.fromkeys(found) if path.is_file()]
