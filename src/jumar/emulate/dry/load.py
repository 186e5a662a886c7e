"""Puts the dry kernels in front of the emulator's and answers what they ask: values, places, shape functions."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

from jumar.core.errors import UserError, cannot
from jumar.emulate.dry import build, places, values
from jumar.runtime import variables
from jumar.tables import tested

_LOOK = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int64, ctypes.POINTER(ctypes.c_double)
)
_PLACE = ctypes.CFUNCTYPE(ctypes.c_uint32)
_SHAPE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p)
_COMPUTED = ctypes.CFUNCTYPE(None, ctypes.c_char_p)
_ROOM = 4096


class Callbacks(ctypes.Structure):
    """As `Callbacks` in kernel.h."""

    _fields_ = (("look", _LOOK), ("place", _PLACE), ("shape", _SHAPE), ("computed", _COMPUTED))


class Lines(ctypes.Structure):
    """As `Lines` in values.h."""

    _fields_ = tuple((name, ctypes.c_int64) for name in ("floats", "integers", "host", "exchanged"))


INTEGERS, HOST, EXCHANGED = 4 << 20, 4 << 20, 512 << 10
"""Elements up to which tensors on the card are computed, and tensors of the host with float numbers; bytes of a
collective (native/hccl/alone.h)."""
_ALL = (1 << 63) - 1

COMPUTED: dict[str, int] = {}
"""Operators without a shape function, and how often they were computed instead."""
_KEPT: list[Any] = []
_LIBRARIES: dict[str, Any] = {}


@functools.cache
def library() -> ctypes.PyDLL:
    """With the interpreter's lock held: the calls are short."""
    try:
        found = ctypes.PyDLL(str(build.library()))
    except OSError as error:
        raise cannot("load the kernels of the dry run", error, tested.pair_hint()) from error
    found.jumar_dry_names.restype = ctypes.c_char_p
    found.jumar_dry_mark.argtypes = (ctypes.c_int64, ctypes.c_int)
    for name in ("allocations", "sequence", "steps"):
        getattr(found, f"jumar_dry_{name}").restype = ctypes.c_size_t
    return found


@functools.cache
def install(*, compute: bool = False) -> None:
    """After the glue, before the program has a tensor; `compute`: everything, the kernels only take notes."""
    from jumar.emulate.glue import load as glue

    asked = Callbacks(_LOOK(values.look), _PLACE(_place), _SHAPE(_shape), _COMPUTED(_computed))
    _KEPT.append(asked)
    exact = variables.DRY_EXACT.read()
    lines = Lines(*[_ALL] * 4) if compute else Lines(exact, max(INTEGERS, exact), HOST, EXCHANGED)
    message = ctypes.create_string_buffer(_ROOM)
    code = library().jumar_dry_install(
        glue.text().encode(), ctypes.byref(asked), ctypes.byref(lines), message, ctypes.c_size_t(_ROOM)
    )
    if code < 0:
        raise UserError(f"the dry run does not fit this torch: {message.value.decode(errors='replace')}")


def number(name: str) -> int:
    """Of a module or a place, as the ledger keeps it."""
    return int(library().jumar_dry_number(name.encode(errors="replace")))


def _place() -> int:
    """Asked by the kernels where a new peak was reached or a collective called."""
    try:
        return number(places.noted())
    except Exception:  # no place is worth a failed run
        return 0


def _computed(name: bytes) -> None:
    COMPUTED[name.decode()] = COMPUTED.get(name.decode(), 0) + 1


def _shape(name: bytes) -> int:
    """Let the reference of an NPU-only operator run on shapes; 0 where there is one."""
    import torch

    from jumar.emulate.torch_ops import registry

    space, _, short = name.decode().partition("::")
    try:
        registry.load(short if space == "npu" else name.decode())
        if space not in _LIBRARIES:
            _LIBRARIES[space] = torch.library.Library(f"jumar_{space}", "IMPL")
        base, _, overload = short.partition(".")
        function = registry.fitting(name.decode(), torch._C._get_schema(f"{space}::{base}", overload))
        _LIBRARIES[space].impl(short, _on_shapes(function), "Meta")
    except Exception:  # nothing may travel through the C caller; the operator is then computed, and reported
        return 1
    return 0


def _on_shapes(function: Any) -> Any:
    """What a reference makes itself is a shape, too; one that looks at values has to be computed."""
    import torch

    def call(*args: Any, **options: Any) -> Any:
        try:
            with torch.device("meta"):
                return function(*args, **options)
        except Exception as error:  # an error of the program shows again when the operator is computed
            raise NotImplementedError(str(error)) from error

    return call
