"""Rotary position embedding: half, interleave, quarter; on query and key, with caches of angles."""

from __future__ import annotations

import torch
from torch import Tensor

from jumar.emulate.torch_ops.formula import gradients, wide
from jumar.emulate.torch_ops.registry import operator


@operator()
def npu_rotary_mul(
    input: Tensor, r1: Tensor, r2: Tensor, rotary_mode: str = "half", rotate: Tensor | None = None
) -> Tensor:
    if rotary_mode not in ("half", "interleave"):
        raise RuntimeError(f"The rotary_mode of npu_rotary_mul should be half or interleave, but got {rotary_mode}")
    x, cos, sin = wide(input), wide(r1), wide(r2)
    turned = turn(x, rotary_mode) if rotate is None else x @ wide(rotate)
    return (x * cos + turned * sin).to(input.dtype)


@operator()
def npu_rotary_mul_backward(
    grad: Tensor, input: Tensor, r1: Tensor, r2: Tensor, rotary_mode: str = "half"
) -> tuple[Tensor, Tensor, Tensor]:
    def formula(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        return x * cos + turn(x, rotary_mode) * sin

    dx, dcos, dsin = gradients(formula, [input, r1, r2], grad)
    return dx, dcos, dsin


@operator()
def npu_apply_rotary_pos_emb(
    query: Tensor, key: Tensor, cos: Tensor, sin: Tensor, layout: str = "BSND", rotary_mode: str = "half"
) -> tuple[Tensor, Tensor]:
    # The kernel changes its inputs in place and returns them.
    for x in (query, key):
        values = wide(x)
        x.copy_(values * wide(cos) + turn(values, rotary_mode) * wide(sin))
    return query, key


@operator()
def npu_interleave_rope(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    # Pairs lie side by side on the way in and half apart on the way out.
    halves = wide(x).unflatten(-1, (-1, 2)).transpose(-1, -2).flatten(-2)
    return (halves * wide(cos) + turn(halves, "half") * wide(sin)).to(x.dtype)


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
    return tuple(_rotate_heads(x, cos, sin, head_size, rotary_mode or "half") for x in (query, key))


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
    if mode == "half":
        c, s = (torch.cat([t, t], -1).unsqueeze(-2) for t in (cos, sin))
    else:
        c, s = (t.repeat_interleave(2, -1).unsqueeze(-2) for t in (cos, sin))
    return torch.cat([moved * c + turn(moved, mode) * s, rest], -1).flatten(-2).to(x.dtype)


def turn(x: Tensor, mode: str) -> Tensor:
    """A quarter turn of each pair: the second member negated and first."""
    if mode == "half":
        left, right = x.chunk(2, dim=-1)
        return torch.cat([-right, left], -1)
    if mode in ("interleave", "interleave-half"):
        pairs = x.unflatten(-1, (-1, 2))
        return torch.stack([-pairs[..., 1], pairs[..., 0]], -1).flatten(-2)
    if mode == "quarter":
        a, b, c, d = x.chunk(4, dim=-1)
        return torch.cat([-b, a, -d, c], -1)
    raise RuntimeError(f"The rotary_mode should be half, interleave, quarter or interleave-half, but got {mode}")
