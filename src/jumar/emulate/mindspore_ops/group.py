"""The ranks of an HCCL group inside an operator: exchanges over the stand-in's shared memory, by the group's name."""

from __future__ import annotations

import ctypes
import functools
from typing import Any, NamedTuple

import numpy as np

from .memory import BFLOAT16, FLOAT, FLOAT16, bfloat16, from_bfloat16
from .registry import NotEmulated

_HALF = {FLOAT16: 3, BFLOAT16: 11, FLOAT: 4}
"""aclDataType to HcclDataType."""
_SUM = 0


class Group(NamedTuple):
    """This process's place among the ranks that call the operator together."""

    name: str
    operator: str
    rank: int
    size: int

    def all_gather(self, x: Any) -> Any:
        """What each rank gave, on a new first axis; the shapes are equal."""
        sent = np.ascontiguousarray(x)
        out = np.empty((self.size, *sent.shape), sent.dtype)
        self._call("all_gather", sent.ctypes, out.ctypes, ctypes.c_uint64(sent.nbytes))
        return out

    def all_reduce(self, x: Any, type_: int) -> Any:
        """The sum in a type of the card, to which each rank rounds its part first; float32 again."""
        sent = np.ascontiguousarray(rounded(x, type_, bits=True))
        out = np.empty_like(sent)
        self._call("all_reduce", sent.ctypes, out.ctypes, ctypes.c_uint64(sent.size), _HALF[type_], _SUM)
        return from_bfloat16(out) if type_ == BFLOAT16 else out.astype(np.float32)

    def reduce_scatter(self, x: Any, type_: int) -> Any:
        """This rank's share of the first axis of the sum."""
        return np.split(self.all_reduce(x, type_), self.size)[self.rank]

    def all_to_all(self, x: Any) -> Any:
        """`x[r]` goes to rank r; what comes from each."""
        sent = np.ascontiguousarray(x)
        out = np.empty_like(sent)
        sizes = (ctypes.c_uint64 * self.size)(*[sent.nbytes // self.size] * self.size)
        self._call("all_to_all", sent.ctypes, sizes, out.ctypes, sizes)
        return out

    def _call(self, name: str, *arguments: Any) -> None:
        given = [ctypes.c_void_p(one.data) if hasattr(one, "data") else one for one in arguments]
        _check(getattr(_library(), f"jumar_group_{name}")(self.name.encode(), self.operator.encode(), *given))


def rounded(x: Any, type_: int, bits: bool = False) -> Any:
    """To a type of the card: as float32, or as the card has it."""
    if type_ not in _HALF:
        raise NotEmulated(f"an exchange of results of data type {type_} is not emulated")
    if type_ == BFLOAT16:
        return bfloat16(x) if bits else from_bfloat16(bfloat16(x))
    plain = np.asarray(x, np.float16 if type_ == FLOAT16 else np.float32)
    return plain if bits else plain.astype(np.float32)


def joined(name: str, operator: str, size: int = 0) -> Group:
    rank, ranks = ctypes.c_uint32(), ctypes.c_uint32()
    _check(_library().jumar_group_find(name.encode(), ctypes.byref(rank), ctypes.byref(ranks)))
    if size not in (0, ranks.value):
        raise ValueError(f"the world size is {size}, but the group `{name}` has {ranks.value} ranks")
    return Group(name, operator, rank.value, ranks.value)


@functools.lru_cache(maxsize=None)  # noqa: UP033  (Python 3.7)
def _library() -> Any:
    return ctypes.CDLL("libhccl.so")


def _check(code: int) -> None:
    if code != 0:
        recent = _library().aclGetRecentErrMsg
        recent.restype = ctypes.c_char_p
        raise RuntimeError((recent() or b"").decode(errors="replace") or f"HCCL failed with {code}")
