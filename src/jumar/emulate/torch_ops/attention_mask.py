"""Which keys a query may see: the attention mask of an operator under its sparse mode.

Modes as documented for npu_fusion_attention (Ascend/op-plugin, docs/zh/custom_APIs): compressed masks of
2048 x 2048 only say "causal", the mode says how the triangle lies.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Sparse(NamedTuple):
    mode: int = 0
    before: int = 2**31 - 1  # pre_tockens
    after: int = 2**31 - 1  # next_tockens
    prefix: list[int] | None = None
    precise: int = 0  # inner_precise

    @property
    def lowest(self) -> float:
        """Of a hidden score: the smallest number, so that a row without any other takes the mean of all values.

        That is the kernel of ops-transformer (2026-08): only `inner_precise` 2, and the modes that say themselves where
        such rows are, make them zero.
        """
        zero = self.precise >= 2 or self.mode not in (0, 1)
        return float("-inf") if zero else torch.finfo(torch.float32).min


def hidden(
    mask: Tensor | None, sparse: Sparse, batch: int, rows: int, columns: int, place: tuple[int, int] = (0, 1)
) -> Tensor | None:
    """True where a key is not seen, for one batch, to be broadcast over heads; None when all are.

    `place` is the position of this sequence and their number, for the modes that treat the ends differently.
    """
    if mask is None:
        return None
    mode = sparse.mode
    shift = columns - rows
    if mode == 2:
        return _band(rows, columns, None, 0)
    if mode == 3:
        return _band(rows, columns, None, shift)
    if mode == 4:
        return _band(rows, columns, sparse.before - shift, sparse.after + shift)
    if mode == 6:
        return _band(rows, columns, None, shift) & (torch.arange(columns) >= (sparse.prefix or [0])[batch])
    if mode == 7:
        if place[0] == place[1] - 1:
            return _band(rows, columns, sparse.before - shift, sparse.after + shift)
        return _band(rows, columns, None, shift)
    if mode == 8:
        if place[0] == 0:
            return _band(rows, columns, sparse.before - shift, sparse.after + shift)
        return _band(rows, columns, None, 0)
    return _given(mask, batch, rows, columns)


def _band(rows: int, columns: int, before: int | None, after: int) -> Tensor:
    distance = torch.arange(columns) - torch.arange(rows).unsqueeze(1)
    outside = distance > after
    return outside if before is None else outside | (distance < -before)


def _given(mask: Tensor, batch: int, rows: int, columns: int) -> Tensor:
    part = mask.bool()
    if part.dim() == 4:
        part = part[batch if part.shape[0] > 1 else 0]
    elif part.dim() == 3:
        part = part[batch if part.shape[0] > 1 else 0].unsqueeze(0)
    if part.shape[-2] > 1:
        part = part[..., :rows, :]
    return part[..., :columns]
