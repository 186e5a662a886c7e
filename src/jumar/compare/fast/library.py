"""The C++ recorder for the installed torch, and its functions."""

from __future__ import annotations

import ctypes
import functools
import os
from pathlib import Path
from typing import Any, NamedTuple

import torch

from jumar.compare import native
from jumar.compare.fast import build
from jumar.core.errors import UserError, reason
from jumar.runtime import compiled
from jumar.runtime.tell import tell

LEARN = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)
READS = ctypes.PYFUNCTYPE(ctypes.c_int)

_AT, _INT, _SIZE, _TEXT = ctypes.c_void_p, ctypes.c_int, ctypes.c_uint64, ctypes.c_char_p
_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "open": (_AT, _AT, LEARN, READS, _AT, _SIZE, ctypes.py_object),
    "attach": (None,),
    "close": (None, _AT),
    "switch": (None, _AT, _INT),
    "facts": (None, _AT, _AT, _INT, _TEXT),
    "argument": (None, _AT, _AT, _TEXT, _TEXT, _INT, _INT),
    "text": (_INT, _AT, _TEXT),
    "name": (None, _AT, _AT, _TEXT, _TEXT),
    "enter": (None, _AT, _INT),
    "leave": (None, _AT),
    "count": (_SIZE, _AT),
    "phase": (_TEXT, _AT),
    "origin": (_INT, _AT, _AT),
    "put": (None, _AT, _AT, _INT, _INT),
    "source": (_INT, _AT, _AT, _TEXT, _INT),
    "row": (_INT, _AT, _AT),
    "empty_row": (_INT, _AT),
    "look": (None, _AT, _TEXT, _TEXT, _AT, _TEXT, _INT),
    "fits": (_INT, _AT, _INT, _AT),
    "append": (_INT, _AT, _TEXT, _TEXT, _TEXT, _AT, _AT, _SIZE, _INT, _TEXT),
    "json": (_AT, _AT, _AT),
    "devices": (_TEXT, _AT),
    "types": (_TEXT, _AT),
    "rows": (_SIZE, _AT),
    "take": (None, _AT, _AT),
}
"""Result and parameters; recorder.cpp says what they do."""


class Library:
    """Its functions, without what their names begin with."""

    def __init__(self, path: Path) -> None:
        loaded: Any = ctypes.PyDLL(str(path))
        for name, (result, *parameters) in _FUNCTIONS.items():
            function = getattr(loaded, f"jumar_{name}")
            function.restype, function.argtypes = result, parameters
            setattr(self, name, function)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


class Found(NamedTuple):
    """The library, or why there is none: Python records then, at a higher cost."""

    library: Library | None
    reason: str = ""


@functools.cache
def load() -> Found:
    """From the wheel or the cache, otherwise built; where that fails, one line says so for all ranks."""
    missing = _missing()
    if missing:
        return Found(None, missing)
    try:
        return Found(Library(compiled.library(build.spec(), again=False)))
    except (UserError, OSError) as error:
        said = error.message if isinstance(error, UserError) else f"the recorder cannot be loaded: {reason(error)}"
        if os.environ.get("RANK", "0") == "0":
            tell(f"recording in Python, which takes longer: {said.splitlines()[0]}")
        return Found(None, said)


def _missing() -> str:
    """What speaks against C++ before anything is built."""
    if native.sketch() is None:
        return "Jumar was installed without its libraries"
    device = _accelerator()
    if device is not None and not native.reads(device):
        return f"tensors are measured on the {device.type}, where they are"
    return ""


def _accelerator() -> torch.device | None:
    if hasattr(torch, "accelerator"):
        # torch 2.6 has no `check_available`
        return torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    for name in ("cuda", "npu", "xpu"):  # before torch 2.6: each has a module of its own
        module = getattr(torch, name, None)
        if module is not None and module.is_available():
            return torch.device(name)
    return None
