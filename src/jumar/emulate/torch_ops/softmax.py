"""Softmax with something fused in: scale and mask, position bias, in place; merging of partial attention."""

from __future__ import annotations

import torch
from torch import Tensor

from jumar.core.compat import zip
from jumar.emulate.torch_ops.formula import wide
from jumar.emulate.torch_ops.registry import operator


@operator()
def npu_scaled_masked_softmax(x: Tensor, mask: Tensor, scale: float = 1, fixed_triu_mask: bool = False) -> Tensor:
    """Masked positions get -10000, as on the device, so a row that is all masked becomes uniform."""
    values = wide(x) * scale
    return torch.softmax(values.masked_fill(_hidden(x, mask, fixed_triu_mask), -10000.0), -1).to(x.dtype)


@operator()
def npu_scaled_masked_softmax_backward(
    y_grad: Tensor, y: Tensor, mask: Tensor, scale: float, fixed_triu_mask: bool
) -> Tensor:
    p, d = wide(y), wide(y_grad)
    dx = p * (d - (p * d).sum(-1, keepdim=True)) * scale
    return dx.masked_fill(_hidden(y, mask, fixed_triu_mask), 0).to(y_grad.dtype)


def _hidden(x: Tensor, mask: Tensor, fixed_triu_mask: bool) -> Tensor:
    if fixed_triu_mask:
        return torch.ones(x.shape[-2:], dtype=torch.bool).triu(1)
    return mask.bool()


@operator()
def npu_masked_softmax_with_rel_pos_bias(
    x: Tensor,
    atten_mask: Tensor | None,
    relative_pos_bias: Tensor,
    scale_value: float = 1.0,
    inner_precision_mode: int = 0,
) -> Tensor:
    y = wide(x) * scale_value
    if atten_mask is not None:
        y = y + wide(atten_mask)
    return torch.softmax(y + wide(relative_pos_bias), -1).to(x.dtype)


@operator()
def npu_attn_softmax_(input: Tensor) -> Tensor:
    return input.copy_(torch.softmax(wide(input), -1))


@operator()
def npu_attn_softmax_backward_(input: Tensor, grad_output: Tensor, values: Tensor) -> Tensor:
    """`input` holds the softmax and becomes the gradient of what went into it."""
    p = wide(input)
    d = wide(grad_output) @ wide(values).transpose(-1, -2)
    return input.copy_(p * (d - (p * d).sum(-1, keepdim=True)))


@operator()
def npu_ring_attention_update(
    prev_attn_out: Tensor,
    prev_softmax_max: Tensor,
    prev_softmax_sum: Tensor,
    cur_attn_out: Tensor,
    cur_softmax_max: Tensor,
    cur_softmax_sum: Tensor,
    *,
    actual_seq_qlen: Tensor | None = None,
    input_layout: str = "SBH",
    input_softmax_layout: str = "",
) -> tuple[Tensor, Tensor, Tensor]:
    top = torch.maximum(prev_softmax_max, cur_softmax_max)
    before = prev_softmax_sum * torch.exp(prev_softmax_max - top)
    now = cur_softmax_sum * torch.exp(cur_softmax_max - top)
    total = before + now
    shares = [t[..., :1] for t in (before / total, now / total)]
    if input_layout.upper() == "SBH":
        # (batch, heads, rows, 1) beside (rows, batch, heads * size)
        heads = top.shape[1]
        parts = [wide(t).unflatten(-1, (heads, -1)) for t in (prev_attn_out, cur_attn_out)]
        out = sum(p * s.permute(2, 0, 1, 3) for p, s in zip(parts, shares, strict=True)).flatten(-2)
    else:
        if input_softmax_layout != "TND" and actual_seq_qlen is not None:
            shares = [_by_token(s, actual_seq_qlen.tolist()) for s in shares]
        out = sum(wide(t) * s for t, s in zip((prev_attn_out, cur_attn_out), shares, strict=True))
    return out.to(prev_attn_out.dtype), top, total


def _by_token(shares: Tensor, ends: list[int]) -> Tensor:
    """From heads first within each sequence, the default of the attention, to tokens first."""
    heads = shares.shape[1]
    flat = shares.reshape(-1)
    parts, start = [], 0
    for end in ends:
        parts.append(flat[start * heads : end * heads].view(heads, -1, 1).transpose(0, 1))
        start = end
    return torch.cat(parts)


@operator()
def npu_attention_update(lse: list[Tensor], local_out: list[Tensor], update_type: int) -> tuple[Tensor, Tensor]:
    sums = torch.stack([t.float() for t in lse])
    total = torch.logsumexp(sums, 0)
    weights = torch.exp(sums - total)
    out = (torch.stack([t.float() for t in local_out]) * weights.unsqueeze(-1)).sum(0)
    return out.to(local_out[0].dtype), total if update_type == 1 else torch.empty(0)
