"""An interpreter with MindSpore, installed once under the user's cache folder and kept for the next run.

JUMAR_TEST_MINDSPORE names another one to use, or says 0: no MindSpore tests.
"""

from __future__ import annotations

import fcntl
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

from jumar.tables import tested

TESTED = tested.mindspore()
VERSION = TESTED.mindspore
_NEEDED = 6 << 30
"""Bytes: the wheel of 0.8 GB and the 2.6 GB it unpacks to, with room to spare."""
_PATIENCE = 600


def find() -> tuple[str, str]:
    """The interpreter, or the reason why there is none."""
    choice = os.environ.get("JUMAR_TEST_MINDSPORE", "")
    if choice:
        return ("", "JUMAR_TEST_MINDSPORE=0") if choice == "0" else (choice, "")
    if "{}.{}".format(*sys.version_info) not in TESTED.python or platform.machine() != "x86_64":
        return "", f"mindspore {VERSION} has no wheel for Python {platform.python_version()} on {platform.machine()}"
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "jumar"
    place = cache / f"mindspore-{VERSION}-cp{sys.version_info[0]}{sys.version_info[1]}"
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / f"{place.name}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several runs may start at once: one installs, the others wait
        reason = "" if (place / "complete").exists() else _install(place)
    return ("", reason) if reason else (str(place / "bin" / "python"), "")


def _install(place: Path) -> str:
    if shutil.disk_usage(place.parent).free < _NEEDED:
        return f"mindspore {VERSION} needs 6 GB of free disk in {place.parent}"
    shutil.rmtree(place, ignore_errors=True)
    pip = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-input", "--retries", "1",
           f"mindspore=={VERSION}", f"numpy{TESTED.numpy}"]  # fmt: skip
    try:
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True, capture_output=True, timeout=120)
        subprocess.run(pip, check=True, capture_output=True, timeout=_PATIENCE)
    except (subprocess.SubprocessError, OSError) as error:
        shutil.rmtree(place, ignore_errors=True)
        return f"mindspore {VERSION} could not be installed: {type(error).__name__}"
    (place / "complete").touch()
    return ""
