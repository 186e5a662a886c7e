"""Other Pythons of this machine, each with an environment that has Jumar's own dependencies and nothing else.

They are looked for as `python3.N` on the path and among pyenv's versions. Jumar itself is not installed: `place` puts
the tested package on a path.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import jumar
import kept_environments
from jumar.core.compat import tomllib

DEPENDENCIES = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]["dependencies"]


def find(version: str) -> str:
    """A Python of this version that starts, or nothing. pyenv puts names on the path that lead nowhere."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    named = [shutil.which(f"python{version}") or "", *map(str, sorted(pyenv.glob(f"{version}.*/bin/python")))]
    return next((path for path in named if path and _starts(path)), "")


def _starts(path: str) -> bool:
    return subprocess.run([path, "-c", "import venv"], capture_output=True, timeout=60).returncode == 0


def environment(version: str) -> tuple[str, str]:
    """The interpreter, or the reason why there is none."""
    python = find(version)
    if not python:
        return "", f"no Python {version} on the path or among pyenv's versions"
    key = hashlib.sha256(" ".join([python, *DEPENDENCIES]).encode()).hexdigest()[:8]
    return kept_environments.environment(f"python-{version}-{key}", python, DEPENDENCIES)


def place(folder: Path) -> Path:
    """A folder for PYTHONPATH with the tested package in it."""
    folder.mkdir(exist_ok=True)
    (folder / "jumar").symlink_to(Path(jumar.__file__).parent)
    return folder
