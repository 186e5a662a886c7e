"""Quantised numbers: rounding to integers, four-bit packing, the 64-bit form of a dequantisation scale."""

from __future__ import annotations

import torch
from torch import Tensor

from jumar.emulate.torch_ops.formula import data_type

_RANGES = {torch.int8: (-128, 127), torch.uint8: (0, 255), torch.int32: (-(2**31), 2**31 - 1)}
_QUANTISED = {torch.qint8: torch.int8, torch.quint8: torch.uint8, torch.qint32: torch.int32}
_PACKED = (torch.int64, getattr(torch, "uint64", torch.int64))
"""Of scales; a torch without unsigned numbers knows the signed one only."""
_FLOAT8 = {torch.float8_e4m3fn: 448.0, torch.float8_e5m2: 57344.0}


def plain_type(code: int | torch.dtype | None, default: torch.dtype = torch.int8) -> torch.dtype:
    """The stored type of a target type; torch.quint4x2 stands for four-bit integers."""
    wanted = data_type(code, default)
    if isinstance(code, int) and code == 285:
        return torch.quint4x2
    return _QUANTISED.get(wanted, wanted)


def largest(dtype: torch.dtype) -> float:
    if dtype in _FLOAT8:
        return _FLOAT8[dtype]
    return 7.0 if dtype == torch.quint4x2 else 127.0


def to_integers(x: Tensor, dtype: torch.dtype) -> Tensor:
    """Rounds half to even and clamps; four-bit integers come out packed, eight to an int32."""
    if dtype in _FLOAT8:
        return x.clamp(-_FLOAT8[dtype], _FLOAT8[dtype]).to(dtype)
    if dtype == torch.quint4x2:
        return pack_int4(x.round().clamp(-8, 7))
    if dtype not in _RANGES:
        return x.to(dtype)
    low, high = _RANGES[dtype]
    return x.round().clamp(low, high).to(dtype)


def pack_int4(x: Tensor) -> Tensor:
    """Eight numbers per int32 along the last dimension, the first in the lowest bits."""
    nibbles = x.to(torch.int64).unflatten(-1, (-1, 8)) & 0xF
    words = (nibbles << torch.arange(0, 32, 4)).sum(-1)
    return words.to(torch.int32)


def unpack_int4(words: Tensor) -> Tensor:
    """As int8, along the dimension that lies contiguous: packed weights may be given transposed."""
    if words.dim() >= 2 and words.stride(-2) == 1 and words.stride(-1) != 1:
        return unpack_int4(words.transpose(-1, -2)).transpose(-1, -2)
    nibbles = (words.to(torch.int64).unsqueeze(-1) >> torch.arange(0, 32, 4)) & 0xF
    signed = torch.where(nibbles > 7, nibbles - 16, nibbles)
    return signed.to(torch.int8).flatten(-2)


def pack_scale(scale: Tensor, offset: Tensor | None) -> Tensor:
    """What the matrix unit reads: the upper 19 bits of the float32 scale, a nine-bit offset, a flag."""
    bits = scale.float().contiguous().view(torch.int32).to(torch.int64) & 0xFFFFE000
    word = bits | (1 << 46)
    if offset is not None:
        rounded = offset.float().round().clamp(-256, 255).to(torch.int64) & 0x1FF
        word = word | (rounded << 37)
    return word


def unpack_scale(scale: Tensor) -> Tensor:
    if scale.dtype not in _PACKED:
        return scale.float()
    low = scale.view(torch.int64) & 0xFFFFFFFF
    return torch.where(low >= 2**31, low - 2**32, low).to(torch.int32).view(torch.float32)


def product(a: Tensor, b: Tensor) -> Tensor:
    """The exact product of integer matrices, as float64 (up to 2^53); packed ones are unpacked."""
    a, b = (unpack_int4(t) if t.dtype == torch.int32 else t for t in (a, b))
    return a.double() @ b.double()
