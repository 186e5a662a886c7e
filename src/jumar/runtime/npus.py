"""Whether this machine has real NPUs and a real CANN."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping
from pathlib import Path

from jumar.runtime.standins import LIBRARY

DRIVERS = ("/usr/local/Ascend/driver", "/usr/local/npu/driver", "/dev/davinci_manager")
"""Any of these says that the driver is there; some newer machines keep it in /usr/local/npu."""
DEVICES = "/dev/davinci[0-9]*"
_STAND_IN = LIBRARY


def devices() -> list[str]:
    """The device files of real NPUs, where the driver is installed too."""
    if not any(os.path.exists(path) for path in DRIVERS):
        return []
    return sorted(glob.glob(DEVICES))


def numbers() -> list[int]:
    """The real NPUs by number."""
    return sorted(int(path.rpartition("davinci")[2]) for path in devices())


def has_cann(environ: Mapping[str, str]) -> bool:
    """The vendor's runtime, not the stand-in, where the loader or CANN's own variable points to."""
    folders = [path for path in environ.get("LD_LIBRARY_PATH", "").split(":") if path]
    if home := environ.get("ASCEND_HOME_PATH"):
        folders.append(f"{home}/lib64")
    return any(_is_vendor(Path(folder)) for folder in folders)


def _is_vendor(folder: Path) -> bool:
    return (folder / "libascendcl.so").exists() and not (folder / _STAND_IN).exists()
