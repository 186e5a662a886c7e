"""Whether this process uses the stand-in libraries of CANN, or will when it imports torch_npu."""

from __future__ import annotations

import sys

from jumar.runtime import variables
from jumar.runtime.hooks.imports import Finder

LIBRARY = "libjumar_ascend.so"
_VENDOR = "/libascendcl.so"


def are_used() -> bool:
    """What is loaded decides; before that, whether this process was started with emulation on."""
    loaded = _maps()
    if LIBRARY in loaded:
        return True
    if _VENDOR in loaded:
        return False
    return are_waiting() and variables.EMULATE.text() != "0"


def are_waiting() -> bool:
    """Whether this process was told to load them when it imports torch_npu (jumar/start.py)."""
    return any(isinstance(one, Finder) and "torch_npu" in one.hooks for one in sys.meta_path)


def _maps() -> str:
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
