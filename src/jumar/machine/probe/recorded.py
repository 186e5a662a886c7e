"""A machine as it was: every answer that the checks got from a probe, kept in a folder and given again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from jumar import __version__
from jumar.core import read, write
from jumar.core.compat import UTC
from jumar.core.errors import UserError
from jumar.machine.probe import NOT_COLLECTED, TIMEOUT, Probe, Ran, Read, over
from jumar.machine.python_facts import SCRIPT

FILE = "machine.json"
FORMAT = 1
_KEPT = re.compile(
    r"(ASCEND|HCCL|NPU|JUMAR|TASK_QUEUE|PYTORCH_NPU|MS_|RANK_TABLE|ATB|TOOLCHAIN|ACL)[A-Z0-9_]*"
    r"|PATH|LD_LIBRARY_PATH|LD_PRELOAD|PYTHONPATH|VIRTUAL_ENV|CONDA_PREFIX|HOME|USER|LOGNAME|HOSTNAME|SHELL"
)
"""Variables that a collected folder holds; the rest of an environment is nobody's business."""


class Recorder:
    """Asks another probe and keeps what it said."""

    @property
    def broken(self) -> str:
        return self._probe.broken

    def __init__(self, probe: Probe) -> None:
        self._probe = probe
        self.name = probe.name
        self.environ: Mapping[str, str] = probe.environ
        self._runs: dict[str, Ran] = {}
        self._files: dict[str, Read] = {}
        self._paths: dict[str, list[str]] = {}

    def run(self, command: Sequence[str], timeout: float = TIMEOUT) -> Ran:
        found = self._runs[json.dumps(list(command))] = self._probe.run(command, timeout)
        return found

    def read(self, path: str) -> Read:
        found = self._files[path] = self._probe.read(path)
        return found

    def paths(self, pattern: str) -> list[str]:
        found = self._paths[pattern] = self._probe.paths(pattern)
        return found

    def close(self) -> None:
        self._probe.close()

    def save(self, folder: Path, scrub: Callable[[str], str]) -> Path:
        """Write the folder; `scrub` goes over every text in it."""
        environ = {name: value for name, value in sorted(self.environ.items()) if _KEPT.fullmatch(name)}
        kept = {
            "format": FORMAT,
            "jumar": __version__,
            "date": datetime.now(UTC).strftime("%Y-%m-%d"),
            "environ": environ,
            "runs": {command: list(ran) for command, ran in sorted(self._runs.items())},
            "files": {path: list(read) for path, read in sorted(self._files.items())},
            "paths": dict(sorted(self._paths.items())),
        }
        path = folder / FILE
        with write.inside(folder):
            write.replace(path, (json.dumps(over(kept, scrub), indent=1, ensure_ascii=False) + "\n").encode())
        return path


class Recorded:
    """A collected folder."""

    broken = ""

    def __init__(self, kept: Mapping[str, Any], name: str) -> None:
        self.name = name
        self.environ: Mapping[str, str] = kept["environ"]
        self._runs = {command: Ran(*ran) for command, ran in kept["runs"].items()}
        self._files = {path: Read(*read) for path, read in kept["files"].items()}
        self._paths: dict[str, list[str]] = kept["paths"]

    def run(self, command: Sequence[str], timeout: float = TIMEOUT) -> Ran:
        found = self._runs.get(json.dumps(list(command)))
        if tuple(command[1:]) == ("-c", SCRIPT):
            found = self._python() or found
        return found or Ran(127, problem=NOT_COLLECTED)

    def _python(self) -> Ran | None:
        """What the Python of the collected machine said, whatever it is called and whichever Jumar asked it."""
        for key, ran in self._runs.items():
            if _facts(ran.out) and _words(key)[1:2] == ["-c"]:
                return ran
        return None

    def read(self, path: str) -> Read:
        return self._files.get(path, Read(None, NOT_COLLECTED))

    def paths(self, pattern: str) -> list[str]:
        return list(self._paths.get(pattern, []))

    def close(self) -> None:
        pass


def _words(key: str) -> list[Any]:
    try:
        words = read.decoded(key)
    except ValueError:
        return []
    return words if isinstance(words, list) else []


def _facts(out: str) -> bool:
    """Is this what the program of `python_facts` prints?"""
    try:
        said = read.decoded(out.strip().splitlines()[-1])
    except (ValueError, IndexError):
        return False
    return isinstance(said, dict) and {"executable", "version", "packages"} <= set(said)


def load(folder: Path) -> Recorded:
    """The machine in a folder that `--collect` wrote."""
    path = folder / FILE if folder.is_dir() else folder
    hint = "`jumar doctor --collect DIR` on the other machine writes one"
    try:
        kept = read.decoded(read.content(path, hint))
    except ValueError as error:
        raise UserError(f"`{path}` is not a collected machine: {error}", hint) from error
    parts = ("environ", "runs", "files", "paths")
    if not isinstance(kept, dict) or kept.get("format") != FORMAT:
        raise UserError(f"`{path}` is not a collected machine of format {FORMAT}", hint)
    try:
        if wrong := [name for name in parts if not isinstance(kept[name], dict)]:
            raise TypeError(f"`{wrong[0]}` is not a table")
        return Recorded(kept, str(folder))
    except (KeyError, TypeError, AttributeError) as error:
        raise UserError(f"`{path}` is damaged: {type(error).__name__}: {error}", hint) from error
