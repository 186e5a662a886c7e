"""The Python end of native/bridge: takes calls of operators from the stand-in libraries, and gives them a BLAS."""

from __future__ import annotations

import atexit
import ctypes
import json
from typing import Any, Callable, NamedTuple

import numpy as np

from . import registry
from .memory import FLOAT16, Place

_LIBRARY = "libjumar_ascend.so"
_NOTHING, _IN, _OUT, _BOTH, _NUMBER, _INTEGER, _INTEGERS, _TEXT, _LIST, _OUT_LIST, _NUMBERS, _ATTRIBUTES, _VALUE = (
    range(13)
)
_INTEGER_TYPES = (2, 3, 4, 6, 7, 8, 9, 10, 12)
_OK, _NOT_EMULATED, _REJECTED = range(3)


class _Seen(ctypes.Structure):
    """`Seen` of native/bridge/bridge.h."""

    _fields_ = [
        ("kind", ctypes.c_int32),
        ("type", ctypes.c_int32),
        ("count", ctypes.c_int64),
        ("dims", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("data", ctypes.c_void_p),
        ("number", ctypes.c_double),
        ("text", ctypes.c_char_p),
        ("name", ctypes.c_char_p),
    ]


_COMPUTE = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_char_p, ctypes.c_int64, ctypes.POINTER(_Seen), ctypes.c_void_p, ctypes.c_int64
)


def connect(path: str = _LIBRARY) -> Callable[[], None]:
    """From here on the stand-ins compute through this process, until it ends or calls what this returns."""
    library = ctypes.CDLL(path)
    pointers = [ctypes.cast(_compute, ctypes.c_void_p), *_blas()]
    library.jumarConnectPython(*pointers)

    def disconnect() -> None:
        library.jumarConnectPython(None, None, None)

    atexit.register(disconnect)
    return disconnect


def _blas() -> list[Any]:
    """The products of matrices that scipy exports for extensions: single and double precision."""
    try:
        from scipy.linalg import cython_blas
    except ImportError:
        return [None, None]
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    name = ctypes.pythonapi.PyCapsule_GetName
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    found = [cython_blas.__pyx_capi__[text] for text in ("sgemm", "dgemm")]
    return [ctypes.c_void_p(get(capsule, name(capsule))) for capsule in found]


@_COMPUTE
def _compute(name: bytes, count: int, arguments: Any, why: int, room: int) -> int:
    try:
        with np.errstate(all="ignore"):
            _run(name.decode(), arguments, count)
    except registry.NotEmulated as problem:
        return _tell(_NOT_EMULATED, str(problem), why, room)
    except Exception as problem:  # it must not cross the border
        return _tell(_REJECTED, f"{type(problem).__name__}: {problem}", why, room)
    return _OK


def _tell(code: int, text: str, why: int, room: int) -> int:
    data = text.encode()[: room - 1] + b"\0"
    ctypes.memmove(why, data, len(data))
    return code


class _Call(NamedTuple):
    """The arguments by name, and where each result goes: an output by type may be an input that is changed."""

    arguments: dict[str, Any]
    outputs: list[list[Place | None]]


def _run(name: str, arguments: Any, count: int) -> None:
    operator = registry.find(name)
    call = _read(arguments, count, operator.stepwise)
    _store(call.outputs, operator(call.arguments, [places[0] for places in call.outputs]))


def _read(seen: Any, count: int, stepwise: bool) -> _Call:
    arguments: dict[str, Any] = {}
    outputs: dict[str, list[Place | None]] = {}
    at = 0
    while at < count:
        one = seen[at]
        name = one.name.decode()
        members = [seen[at + 1 + i] for i in range(one.count)] if one.kind in (_LIST, _OUT_LIST) else []
        at += 1 + len(members)
        if one.kind == _LIST:
            values = [_value(member, stepwise) for member in members]
            arguments[name] = registry.Inputs(values, [_place(member) for member in members])
        elif one.kind == _OUT_LIST:
            outputs.update((f"{name} {i}", [_place(member)]) for i, member in enumerate(members))
        elif one.kind in (_OUT, _BOTH):
            outputs.setdefault(name, []).append(_place(one))
        if one.kind not in (_LIST, _OUT_LIST, _OUT):
            arguments[name] = _value(one, stepwise)
    return _Call(arguments, list(outputs.values()))


def _place(seen: Any) -> Place | None:
    return Place(seen.type, seen.dims, seen.count, seen.strides, seen.data) if seen.dims or seen.data else None


def _value(seen: Any, stepwise: bool) -> Any:
    if seen.kind in (_IN, _BOTH):
        place = _place(seen)
        if place is None:
            return None
        return place.raw() if stepwise and place.type == FLOAT16 else place.read()
    if seen.kind == _NUMBER:
        return int(seen.number) if seen.type in _INTEGER_TYPES else seen.number
    if seen.kind == _INTEGER:
        return seen.dims[0]
    if seen.kind == _INTEGERS:
        return tuple(seen.dims[at] for at in range(seen.count))
    if seen.kind == _NUMBERS:
        numbers = (ctypes.c_double * seen.count).from_address(seen.data)
        return tuple(_plain(number) for number in numbers)
    if seen.kind == _VALUE:
        return _plain(seen.number)
    if seen.kind == _ATTRIBUTES:
        return _attributes(seen.text.decode())
    return seen.text.decode() if seen.kind == _TEXT else None


def _plain(number: float) -> float:
    """An integer where it is one: which numbers are is not told."""
    return int(number) if number.is_integer() else number


def _attributes(text: str) -> dict[str, Any]:
    """An attribute is a list, a text or a number: what is there of the three."""
    return {name: many or words or number for name, (number, words, many) in json.loads(text).items()}


def _store(outputs: list[list[Place | None]], results: Any) -> None:
    values = results if isinstance(results, (tuple, list)) else (results,)
    for (first, *others), value in zip(outputs, values):
        if first is not None and value is not None:
            first.write_part(value.value) if isinstance(value, registry.Sized) else first.write(value)
        for other in others:
            if first is not None and other is not None:
                other.write(first.read())
