"""Rotary position embedding: half, interleave, quarter; on query and key, with caches of angles."""

from __future__ import annotations

import torch
from torch import Tensor

from jumar.emulate.formulas import rotary as formulas
from jumar.emulate.torch_ops.formula import wide
from jumar.emulate.torch_ops.registry import operator


@operator()
def npu_rotary_mul(
    input: Tensor, r1: Tensor, r2: Tensor, rotary_mode: str = "half", rotate: Tensor | None = None
) -> Tensor:
    if rotary_mode not in ("half", "interleave"):
        raise RuntimeError(f"The rotary_mode of npu_rotary_mul should be half or interleave, but got {rotary_mode}")
    x, cos, sin = wide(input), wide(r1), wide(r2)
    if rotate is not None:
        return (x * cos + x @ wide(rotate) * sin).to(input.dtype)
    return formulas.rotate(x, cos, sin, rotary_mode).to(input.dtype)


@operator()
def npu_rotary_mul_backward(
    grad: Tensor, input: Tensor, r1: Tensor, r2: Tensor, rotary_mode: str = "half"
) -> tuple[Tensor, Tensor, Tensor]:
    found = formulas.rotate_backward(wide(grad), wide(input), wide(r1), wide(r2), rotary_mode)
    dx, dcos, dsin = (one.to(like.dtype) for one, like in zip(found, (input, r1, r2)))
    return dx, dcos, dsin


@operator()
def npu_apply_rotary_pos_emb(
    query: Tensor, key: Tensor, cos: Tensor, sin: Tensor, layout: str = "BSND", rotary_mode: str = "half"
) -> tuple[Tensor, Tensor]:
    # The kernel changes its inputs in place and returns them.
    for x in (query, key):
        x.copy_(formulas.rotate(wide(x), wide(cos), wide(sin), _known(rotary_mode)))
    return query, key


@operator()
def npu_interleave_rope(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    return formulas.rotate(wide(x), wide(cos), wide(sin), "interleave-half").to(x.dtype)


@operator()
def npu_mrope(
    positions: Tensor,
    query: Tensor,
    key: Tensor,
    cos_sin_cache: Tensor,
    head_size: int,
    *,
    mrope_section: list[int] | None = None,
    rotary_mode: str | None = "half",
    cache_mode: str | None = "default",
) -> tuple[Tensor, Tensor]:
    if cache_mode not in (None, "default", "interleave"):
        raise RuntimeError(f"cache_mode only support default or interleave, but got {cache_mode}")
    cos, sin = wide(cos_sin_cache)[positions.long()].chunk(2, dim=-1)
    if mrope_section and any(mrope_section):
        if cache_mode == "interleave":
            cos, sin = (_interleaved_sections(t, mrope_section) for t in (cos, sin))
        else:
            cos, sin = (
                torch.cat([part[i] for i, part in enumerate(t.split(mrope_section, -1))], -1) for t in (cos, sin)
            )
    mode = _known(rotary_mode or "half")
    return tuple(_rotate_heads(x, cos, sin, head_size, mode) for x in (query, key))


def _interleaved_sections(angles: Tensor, sections: list[int]) -> Tensor:
    out = angles[0].clone()
    for axis in range(1, len(sections)):
        end = sections[axis] * len(sections)
        out[..., axis : end : len(sections)] = angles[axis][..., axis : end : len(sections)]
    return out


def _rotate_heads(x: Tensor, cos: Tensor, sin: Tensor, head_size: int, mode: str) -> Tensor:
    heads = wide(x).unflatten(-1, (-1, head_size))
    size = cos.shape[-1] * 2
    moved, rest = heads[..., :size], heads[..., size:]
    if mode in ("half", "interleave-half"):
        c, s = (torch.cat([t, t], -1).unsqueeze(-2) for t in (cos, sin))
    else:
        c, s = (t.repeat_interleave(2, -1).unsqueeze(-2) for t in (cos, sin))
    return torch.cat([formulas.rotate(moved, c, s, mode), rest], -1).flatten(-2).to(x.dtype)


def _known(mode: str) -> str:
    if mode not in formulas.MODES:
        raise RuntimeError(f"The rotary_mode should be half, interleave, quarter or interleave-half, but got {mode}")
    return mode
