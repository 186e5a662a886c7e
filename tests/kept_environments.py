"""Virtual environments for tests, each installed once under the user's cache folder and kept for the next run."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

PLACE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "jumar"
_PATIENCE = 600


def environment(name: str, python: str, requirements: list[str], needed: int = 0) -> tuple[str, str]:
    """The interpreter, or the reason why there is none. `needed` is the free disk in bytes that it takes."""
    PLACE.mkdir(parents=True, exist_ok=True)
    place = PLACE / name
    with open(PLACE / f"{name}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several runs may start at once: one installs, the others wait
        reason = "" if (place / "complete").exists() else _install(place, python, requirements, needed)
    return ("", reason) if reason else (str(place / "bin" / "python"), "")


def _install(place: Path, python: str, requirements: list[str], needed: int) -> str:
    what = f"{', '.join(requirements)} for {python}"
    if shutil.disk_usage(PLACE).free < needed:
        return f"{what}: needs {needed >> 30} GB of free disk in {PLACE}"
    shutil.rmtree(place, ignore_errors=True)
    pip = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-input", "--retries", "1"]
    try:
        for command in ([python, "-m", "venv", str(place)], [*pip, *requirements]):
            subprocess.run(command, check=True, capture_output=True, timeout=_PATIENCE)
    except (subprocess.SubprocessError, OSError) as error:
        shutil.rmtree(place, ignore_errors=True)
        return f"{what}: could not be installed: {type(error).__name__}"
    (place / "complete").touch()
    return ""
