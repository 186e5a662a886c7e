"""Other Pythons of this machine, each with an environment that has Jumar's own dependencies and nothing else.

They are looked for as `python3.N` on the path and among pyenv's versions. An environment is installed once under the
user's cache folder and kept for the next run. Jumar itself is not installed: `place` puts the tested package on a path.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import jumar
from jumar.core.compat import tomllib

DEPENDENCIES = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]["dependencies"]
_PATIENCE = 300


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
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "jumar"
    cache.mkdir(parents=True, exist_ok=True)
    key = hashlib.sha256(" ".join([python, *DEPENDENCIES]).encode()).hexdigest()[:8]
    place = cache / f"python-{version}-{key}"
    with open(cache / f"{place.name}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several runs may start at once: one installs, the others wait
        reason = "" if (place / "complete").exists() else _install(python, place)
    return ("", reason) if reason else (str(place / "bin" / "python"), "")


def _install(python: str, place: Path) -> str:
    shutil.rmtree(place, ignore_errors=True)
    pip = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-input", "--retries", "1"]
    try:
        subprocess.run([python, "-m", "venv", str(place)], check=True, capture_output=True, timeout=_PATIENCE)
        subprocess.run([*pip, *DEPENDENCIES], check=True, capture_output=True, timeout=_PATIENCE)
    except (subprocess.SubprocessError, OSError) as error:
        shutil.rmtree(place, ignore_errors=True)
        return f"the dependencies could not be installed for {python}: {type(error).__name__}"
    (place / "complete").touch()
    return ""


def place(folder: Path) -> Path:
    """A folder for PYTHONPATH with the tested package in it."""
    folder.mkdir(exist_ok=True)
    (folder / "jumar").symlink_to(Path(jumar.__file__).parent)
    return folder
