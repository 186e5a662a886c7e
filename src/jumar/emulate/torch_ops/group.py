"""The ranks of an HCCL group inside an operator: exchanges over the stand-in's shared memory, by the group's name."""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor

# HcclDataType and HcclReduceOp of the vendor's header.
_TYPES = {
    torch.int8: 0, torch.int16: 1, torch.int32: 2, torch.float16: 3, torch.float32: 4, torch.int64: 5, torch.uint8: 7,
    torch.float64: 10, torch.bfloat16: 11,
}  # fmt: skip
_REDUCTIONS = {"sum": 0, "prod": 1, "max": 2, "min": 3}


class Group(NamedTuple):
    """This process's place among the ranks that call the operator together."""

    name: str
    operator: str
    rank: int
    size: int

    def all_gather(self, x: Tensor) -> list[Tensor]:
        """What each rank gave; the shapes are equal."""
        sent = x.contiguous()
        out = torch.empty((self.size, *sent.shape), dtype=sent.dtype)
        self._call("all_gather", sent.data_ptr(), out.data_ptr(), ctypes.c_uint64(sent.nbytes))
        return list(out.unbind(0))

    def all_reduce(self, x: Tensor, reduction: str = "sum") -> Tensor:
        if reduction not in _REDUCTIONS:
            raise RuntimeError(f"reduce_op of {self.operator} should be sum, but got {reduction}")
        sent = x.contiguous()
        out = torch.empty_like(sent)
        count = ctypes.c_uint64(sent.numel())
        self._call("all_reduce", sent.data_ptr(), out.data_ptr(), count, _TYPES[x.dtype], _REDUCTIONS[reduction])
        return out

    def reduce_scatter(self, x: Tensor, reduction: str = "sum") -> Tensor:
        """This rank's share of the rows of the sum."""
        return self.all_reduce(x, reduction).chunk(self.size)[self.rank].clone()

    def all_to_all(self, parts: Sequence[Tensor], rows: Sequence[int] | None = None) -> list[Tensor]:
        """`parts[r]` goes to rank r; what comes from each has `rows[r]` rows, by default as many as was sent there."""
        counts = list(rows) if rows is not None else [len(part) for part in parts]
        row = parts[0].shape[1:]
        sent = torch.cat(list(parts)).contiguous()
        out = torch.empty((sum(counts), *row), dtype=sent.dtype)
        width = sent.element_size() * row.numel()
        sizes = [(ctypes.c_uint64 * self.size)(*(n * width for n in c)) for c in ([len(p) for p in parts], counts)]
        self._call("all_to_all", sent.data_ptr(), sizes[0], out.data_ptr(), sizes[1])
        return list(out.split(counts))

    def exchange(self, parts: Sequence[Tensor]) -> list[Tensor]:
        """`all_to_all` where only the senders know how many rows there are."""
        sent = torch.tensor([[len(part)] for part in parts])
        received = torch.cat(self.all_to_all(list(sent.split(1)))).flatten().tolist()
        return self.all_to_all(parts, received)

    def _call(self, name: str, *arguments: Any) -> None:
        pointers = [ctypes.c_void_p(item) if isinstance(item, int) and item > 1 << 16 else item for item in arguments]
        _check(getattr(_library(), f"jumar_group_{name}")(self.name.encode(), self.operator.encode(), *pointers))


@contextmanager
def joined(name: str, operator: str, size: int = 0) -> Iterator[Group]:
    """The group for one operator. A refusal breaks it: the other ranks end, too, instead of waiting for this one."""
    rank, ranks = ctypes.c_uint32(), ctypes.c_uint32()
    _check(_library().jumar_group_find(name.encode(), ctypes.byref(rank), ctypes.byref(ranks)))
    if size not in (0, ranks.value):
        raise RuntimeError(f"world_size of {operator} is {size}, but the group `{name}` has {ranks.value} ranks")
    try:
        yield Group(name, operator, rank.value, ranks.value)
    except NotImplementedError as error:
        text = f"rank {rank.value} (pid {os.getpid()}) refused: {error}"
        _library().jumar_group_break(name.encode(), text.encode())
        raise


@functools.cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL("libhccl.so")  # loaded already: torch_npu links it


def _check(code: int) -> None:
    if code != 0:
        recent = _library().aclGetRecentErrMsg
        recent.restype = ctypes.c_char_p
        raise RuntimeError((recent() or b"").decode(errors="replace") or f"HCCL failed with {code}")
