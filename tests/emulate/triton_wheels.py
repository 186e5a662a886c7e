"""Where tests find Triton: in this environment, or in a folder of its own under the user's cache, installed once.

Its wheels are too large for the environment of `make test`: triton-ascend has 54 MB, Triton itself 290.
"""

from __future__ import annotations

import fcntl
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

_PATIENCE = 600


def place(wheel: str, *, install: bool) -> tuple[str, str]:
    """The folder to put on the path (empty if the environment has it), or the reason why there is none."""
    package = wheel.split("==")[0].replace("-", "_")
    if importlib.util.find_spec("triton") is not None:
        return "", ""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "jumar"
    folder = cache / f"{wheel.replace('==', '-')}-{sys.implementation.cache_tag}"
    if not (folder / "complete").exists() and not install:
        return "", f"{package} is not installed: `make slow` installs it"
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / f"{folder.name}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        reason = "" if (folder / "complete").exists() else _install(wheel, folder)
    return str(folder), reason


def _install(wheel: str, folder: Path) -> str:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-input", "--no-deps", "--upgrade", "--target"]
    try:
        subprocess.run([*pip, str(folder), wheel], check=True, capture_output=True, timeout=_PATIENCE)
    except (subprocess.SubprocessError, OSError) as error:
        return f"{wheel} could not be installed: {type(error).__name__}"
    (folder / "complete").touch()
    return ""
