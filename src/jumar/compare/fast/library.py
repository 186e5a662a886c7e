"""The C++ recorder, built for the installed torch when it is first needed, and its functions."""

from __future__ import annotations

import ctypes
import functools
import sys
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import torch

from jumar.compare import native
from jumar.core.errors import UserError
from jumar.runtime import compiled

_HERE = Path(__file__).parent

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
    """Builds it if the cache has none; a build that fails is told in one line."""
    reason = _missing()
    if reason:
        return Found(None, reason)
    files = sorted([*_HERE.glob("*.cpp"), *_HERE.glob("*.h")])
    sources = tuple(file.name.encode() + b"\0" + file.read_bytes() for file in files)
    version = f"torch-{metadata.version('torch')}"
    build = compiled.Build("the recorder", "recorder", "libjumar_recorder.so", version, sources, _command)
    try:
        return Found(Library(compiled.library(build, again=False)))
    except (UserError, OSError) as error:
        reason = error.message if isinstance(error, UserError) else f"the recorder cannot be loaded: {error}"
        sys.stderr.write(f"jumar: recording in Python, which takes longer: {reason}\n")
        return Found(None, reason)


def _missing() -> str:
    """What speaks against C++ before anything is built."""
    if native.sketch() is None:
        return "Jumar was installed without its libraries"
    if not hasattr(torch, "accelerator"):
        return f"torch {torch.__version__} cannot say which device is in use"
    device = torch.accelerator.current_accelerator(check_available=True)
    if device is not None and not native.reads(device):
        return f"tensors are measured on the {device.type}, where they are"
    return ""


def _command(compiler: str, out: Path) -> list[str]:
    torch_at = compiled.package("torch")
    includes = (torch_at / "include", torch_at / "include" / "torch" / "csrc" / "api" / "include")
    return [
        compiler,
        compiled.string_abi(),
        *("-std=c++20", "-O2", "-g0", "-w", "-fPIC", "-shared", "-fvisibility=hidden"),
        *(f"-I{path}" for path in includes),
        str(_HERE / "recorder.cpp"),
        *("-o", str(out)),
        *(f"-L{torch_at / 'lib'}", "-ltorch_cpu", "-lc10"),
    ]
