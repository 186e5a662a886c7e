"""A whole attention layer in one operator: projections, attention with a mask that is added, and the last projection.

Ascend/op-plugin docs/zh/custom_APIs/torch_npu, npu_multi_head_attention (beta). What the operator keeps for
its gradients has the type of the input, as have the steps in between: they are rounded to it.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from jumar.core.compat import zip
from jumar.emulate.torch_ops import random_bits
from jumar.emulate.torch_ops.formula import wide, wide_or_none
from jumar.emulate.torch_ops.registry import operator


@operator()
def npu_multi_head_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    query_weight: Tensor,
    key_weight: Tensor,
    value_weight: Tensor,
    attn_mask: Tensor,
    out_proj_weight: Tensor,
    query_bias: Tensor | None,
    key_bias: Tensor | None,
    value_bias: Tensor | None,
    out_proj_bias: Tensor | None,
    dropout_mask: Tensor | None,
    attn_head_num: int,
    attn_dim_per_head: int,
    src_len: int,
    tgt_len: int,
    dropout_prob: float,
    softmax_use_float: bool,
) -> tuple[Tensor, ...]:
    _check(attn_head_num, attn_dim_per_head, src_len, tgt_len)
    kind = query.dtype
    sizes = (attn_head_num, attn_dim_per_head)
    q = _linear(query, query_weight, query_bias)
    q = _heads((wide(q) * attn_dim_per_head**-0.5).to(kind), tgt_len, *sizes)
    k = _heads(_linear(key, key_weight, key_bias), src_len, *sizes)
    v = _heads(_linear(value, value_weight, value_bias), src_len, *sizes)
    scores = (wide(q) @ wide(k).mT).to(kind) + attn_mask
    weights = torch.softmax(wide(scores), -1)
    bits = _bits(dropout_mask, weights.numel(), dropout_prob)
    kept = _dropped(weights.to(kind), bits, dropout_prob)
    context = _rows((wide(kept) @ wide(v)).to(kind))
    y = _linear(context, out_proj_weight, out_proj_bias)
    packed = random_bits.pack(bits)[: weights.numel() // 8]
    return y, packed, q, k, v, weights if softmax_use_float else weights.to(kind), kept, context


@operator()
def npu_multi_head_attention_backward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    query_weight: Tensor,
    key_weight: Tensor,
    value_weight: Tensor,
    out_proj_weight: Tensor,
    query_bias: Tensor | None,
    key_bias: Tensor | None,
    value_bias: Tensor | None,
    out_proj_bias: Tensor | None,
    query_res: Tensor,
    key_res: Tensor,
    value_res: Tensor,
    attn_scores: Tensor,
    attn_res: Tensor,
    context: Tensor,
    y_grad: Tensor,
    dropout_mask: Tensor,
    attn_head_num: int,
    attn_dim_per_head: int,
    src_len: int,
    tgt_len: int,
    dropout_prob: float,
    softmax_use_float: bool,
) -> tuple[Tensor, ...]:
    _check(attn_head_num, attn_dim_per_head, src_len, tgt_len)
    kind = query.dtype
    of_context = _heads((wide(y_grad) @ wide(out_proj_weight)).to(kind), tgt_len, attn_head_num, attn_dim_per_head)
    of_v = (wide(attn_res).mT @ wide(of_context)).to(kind)
    of_kept = (wide(of_context) @ wide(value_res).mT).to(kind)
    bits = random_bits.unpack(dropout_mask, of_kept.numel()) if dropout_prob > 0 else None
    of_weights = wide(_dropped(of_kept, bits, dropout_prob))
    weights = wide(attn_scores)
    of_scores = (weights * (of_weights - (of_weights * weights).sum(-1, keepdim=True))).to(kind)
    of_q = (wide(of_scores) @ wide(key_res) * attn_dim_per_head**-0.5).to(kind)
    of_k = (wide(of_scores).mT @ wide(query_res)).to(kind)
    rows = [_rows(of_q), _rows(of_k), _rows(of_v)]
    inputs, weights_in = (query, key, value), (query_weight, key_weight, value_weight)
    of_inner = [(wide(row).mT @ wide(x)).to(kind) for row, x in zip(rows, inputs, strict=True)]
    of_inputs = [(wide(row) @ wide(weight)).to(kind) for row, weight in zip(rows, weights_in, strict=True)]
    of_biases = [wide(row).sum(0, keepdim=True).to(kind) for row in (*rows, y_grad)]
    return *of_inner, (wide(y_grad).mT @ wide(context)).to(kind), *of_inputs, *of_biases


def _check(*sizes: int) -> None:
    names = "tgt_len, src_len, attn_head_num, attn_dim_per_head should"
    if min(sizes) <= 0:
        raise RuntimeError(f"{names} not equal zero.")
    if any(size % 16 for size in sizes):
        raise RuntimeError(f"{names} align to 16.")


def _linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    return F.linear(wide(x), wide(weight), wide_or_none(bias)).to(x.dtype)


def _heads(x: Tensor, length: int, heads: int, size: int) -> Tensor:
    return x.view(-1, length, heads, size).transpose(1, 2).contiguous()


def _rows(x: Tensor) -> Tensor:
    return x.transpose(1, 2).reshape(x.shape[0] * x.shape[2], -1)


def _bits(mask: Tensor | None, count: int, drop: float) -> Tensor:
    if mask is not None and mask.dtype == torch.uint8:
        return random_bits.unpack(mask, count)
    return random_bits.keep_bits(count, drop, *random_bits.next_seed())


def _dropped(x: Tensor, bits: Tensor | None, drop: float) -> Tensor:
    if bits is None or drop == 0:
        return x
    return (wide(x) * bits.view(x.shape) / (1 - drop)).to(x.dtype)
