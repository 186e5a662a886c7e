"""Keys and values of inference attention as they are kept: in pages, quantised, with their own lengths."""

from __future__ import annotations

import torch
from torch import Tensor

from jumar.emulate.torch_ops.formula import wide
from jumar.emulate.torch_ops.integers import unpack_int4
from jumar.emulate.torch_ops.registry import not_emulated


def paged(cache: Tensor, table: Tensor, lengths: list[int], heads: int, block: int) -> list[Tensor]:
    """Per sequence (heads, length, size), from blocks (n, block, H), (n, heads, block, D) or tiles."""
    if cache.dim() == 3:
        blocks = cache.unflatten(-1, (heads, -1)).transpose(1, 2)
    elif cache.dim() == 5:
        blocks = cache.permute(0, 1, 3, 2, 4).flatten(-2)
    else:
        blocks = cache
    size = blocks.shape[2]
    out = []
    for row, length in zip(table.tolist(), lengths):
        used = row[: (length + size - 1) // size]
        parts = [blocks[index] for index in used]
        whole = torch.cat(parts, 1) if parts else blocks.new_zeros(heads, 0, blocks.shape[-1])
        out.append(whole[:, :length])
    return out


def dequantised(name: str, x: Tensor, scale: Tensor | None, offset: Tensor | None, mode: int) -> Tensor:
    """(x + offset) * scale on (batch, heads, positions, size), per channel (mode 0) or per token (mode 1)."""
    if scale is None:
        return x
    values = (unpack_int4(x) if x.dtype == torch.int32 else x).float()
    if mode not in (0, 1):
        raise not_emulated(name, f"with an antiquant mode of {mode}")
    shaped = _per_token if mode == 1 else _per_channel
    if offset is not None:
        values = values + shaped(wide(offset), values)
    return values * shaped(wide(scale), values)


def _per_channel(factors: Tensor, x: Tensor) -> Tensor:
    if factors.numel() == 1:
        return factors.reshape(())
    return factors.reshape(1, x.shape[1], 1, x.shape[3])


def _per_token(factors: Tensor, x: Tensor) -> Tensor:
    if factors.dim() == 3 and factors.shape[0] == 1:
        factors = factors[0]
    return factors[:, : x.shape[2]].reshape(factors.shape[0], 1, -1, 1)
