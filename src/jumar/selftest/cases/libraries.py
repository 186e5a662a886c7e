"""The libraries that torch_npu takes from CANN: each can be found, and loads."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jumar.core.errors import reason
from jumar.selftest.case import Case

if TYPE_CHECKING:
    from jumar.selftest.given import Given

NAMES = ("libascendcl.so", "libhccl.so", "libge_runner.so", "libgraph.so", "libacl_op_compiler.so", "libopapi.so",
         "libacl_tdt_channel.so", "libruntime.so", "libmsprofiler.so")  # fmt: skip
"""Linked by torch_npu's wheel, or opened by name at run time."""


def _loads(name: str) -> Any:
    """Where it is on the loader's path or below CANN, and whether it opens."""

    def run(g: Given) -> Any:
        folders = [path for path in os.environ.get("LD_LIBRARY_PATH", "").split(":") if path]
        folders += [f"{os.environ['ASCEND_HOME_PATH']}/lib64"] if os.environ.get("ASCEND_HOME_PATH") else []
        found = any((Path(folder) / name).exists() for folder in folders)
        try:
            ctypes.CDLL(name)
        except OSError as error:
            return {"found": found, "opens": f"cannot be opened: {reason(error)}"}
        return {"found": found, "opens": True}

    return run


CASES = [Case(name, _loads(name), reference=False) for name in NAMES]
