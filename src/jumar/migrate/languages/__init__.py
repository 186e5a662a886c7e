"""Which language a file is in, and the function that migrates it; one module per language, loaded on use.

A language module has `migrate(source, settings) -> Outcome`. The rules of each pass lie in a folder of their own
(`passes/torch/shell/`); several languages may share one (`config` serves YAML, JSON, TOML and INI).
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from pathlib import PurePath

from jumar.core.source import Source
from jumar.migrate.engine import Outcome
from jumar.migrate.settings import Settings
from jumar.runtime import settings as settings_file

NAMES: tuple[tuple[str, str], ...] = (
    (r"(?:.*[._-])?(?:Dockerfile|Containerfile)(?:[._-].*)?|.*\.dockerfile", "dockerfile"),
    (r"(?:GNU)?[Mm]akefile(?:\..*)?|.*\.mk", "makefile"),
    (r"(?:.*[._-])?(?:requirements?|constraints?)(?:[._-].*)?\.(?:txt|in)|reqs?\.txt", "requirements"),
    (r"(?:poetry|uv|pdm|pixi)\.lock|Pipfile", "config"),
    (r"\.env(?:\..*)?|\.?(?:bashrc|bash_profile|profile|zshrc)", "shell"),
)
"""Patterns on the whole file name and the language they mean, tried before suffixes."""
FOLDERS = {"requirements": (".txt", ".in"), "reqs": (".txt", ".in")}
"""Folders whose files are requirement files."""
SUFFIXES = {
    ".py": "python", ".pyi": "python", ".ipynb": "notebook",
    ".sh": "shell", ".bash": "shell", ".zsh": "shell", ".ksh": "shell", ".slurm": "shell", ".sbatch": "shell",
    ".pbs": "shell", ".lsf": "shell", ".env": "shell",
    ".yaml": "config", ".yml": "config", ".json": "config", ".jsonc": "config", ".toml": "config",
    ".cfg": "config", ".ini": "config",
    ".cu": "native", ".cuh": "native", ".cpp": "native", ".cc": "native", ".cxx": "native", ".c": "native",
    ".h": "native", ".hpp": "native", ".hh": "native",
}  # fmt: skip
_PATTERN = re.compile("|".join(f"(?P<n{number}>{pattern})" for number, (pattern, _) in enumerate(NAMES)))
_SHELLS = re.compile(rb"\b(?:ba|z|k|da)?sh\b")


def classify(path: str, head: bytes = b"") -> str | None:
    """The language of a file by name, suffix or `#!` line; None for what Jumar does not read."""
    pure = PurePath(path)
    if pure.name == settings_file.FILE:
        return None
    match = _PATTERN.fullmatch(pure.name)
    if match and match.lastgroup:
        return NAMES[int(match.lastgroup[1:])][1]
    if pure.parent.name in FOLDERS and pure.suffix in FOLDERS[pure.parent.name]:
        return "requirements"
    if pure.suffix.lower() in SUFFIXES:
        return SUFFIXES[pure.suffix.lower()]
    if head.startswith(b"#!"):
        first = head.partition(b"\n")[0]
        if b"python" in first:
            return "python"
        if _SHELLS.search(first):
            return "shell"
    return None


def migrator(language: str) -> Callable[[Source, Settings], Outcome]:
    module = importlib.import_module(f"jumar.migrate.languages.{language}")
    found: Callable[[Source, Settings], Outcome] = module.migrate
    return found
