"""Attention for inference: prompt, incremental, fused.

Ascend/op-plugin docs/zh/custom_APIs/torch_npu-npu_fused_infer_attention_score.md and its relatives.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from jumar.emulate.torch_ops.attention_mask import Sparse
from jumar.emulate.torch_ops.attention_request import Request, attend, refuse_given
from jumar.emulate.torch_ops.formula import wide
from jumar.emulate.torch_ops.registry import operator

_FAR = 2**31 - 1


@operator()
def npu_prompt_flash_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    padding_mask: Tensor | None = None,
    atten_mask: Tensor | None = None,
    pse_shift: Tensor | None = None,
    actual_seq_lengths: list[int] | None = None,
    deq_scale1: Tensor | None = None,
    quant_scale1: Tensor | None = None,
    deq_scale2: Tensor | None = None,
    quant_scale2: Tensor | None = None,
    quant_offset2: Tensor | None = None,
    num_heads: int = 1,
    scale_value: float = 1.0,
    pre_tokens: int = _FAR,
    next_tokens: int = 0,
    input_layout: str = "BSH",
    num_key_value_heads: int = 0,
    actual_seq_lengths_kv: list[int] | None = None,
    sparse_mode: int = 0,
) -> Tensor:
    request = Request(
        "npu_prompt_flash_attention",
        query,
        key,
        value,
        num_heads,
        num_key_value_heads,
        input_layout,
        scale_value,
        Sparse(sparse_mode, pre_tokens, next_tokens),
        mask=atten_mask,
        pse=pse_shift,
        query_lengths=actual_seq_lengths,
        key_lengths=actual_seq_lengths_kv,
        out_scale=quant_scale2,
        out_offset=quant_offset2,
        steps=(deq_scale1, quant_scale1, deq_scale2),
    )
    return attend(request)[0]


@operator()
def npu_incre_flash_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    padding_mask: Tensor | None = None,
    atten_mask: Tensor | None = None,
    pse_shift: Tensor | None = None,
    actual_seq_lengths: list[int] | None = None,
    antiquant_scale: Tensor | None = None,
    antiquant_offset: Tensor | None = None,
    block_table: Tensor | None = None,
    dequant_scale1: Tensor | None = None,
    quant_scale1: Tensor | None = None,
    dequant_scale2: Tensor | None = None,
    quant_scale2: Tensor | None = None,
    quant_offset2: Tensor | None = None,
    kv_padding_size: Tensor | None = None,
    num_heads: int = 1,
    scale_value: float = 1.0,
    input_layout: str = "BSH",
    num_key_value_heads: int = 0,
    block_size: int = 0,
    inner_precise: int = 1,
) -> Tensor:
    refuse_given("npu_incre_flash_attention", kv_padding_size=kv_padding_size)
    scales, offsets = _both(antiquant_scale), _both(antiquant_offset)
    request = Request(
        "npu_incre_flash_attention",
        query,
        key,
        value,
        num_heads,
        num_key_value_heads,
        input_layout,
        scale_value,
        Sparse(precise=inner_precise),
        mask=atten_mask,
        pse=pse_shift,
        key_lengths=actual_seq_lengths,
        table=block_table,
        block=block_size,
        key_scale=scales[0],
        key_offset=offsets[0],
        value_scale=scales[1],
        value_offset=offsets[1],
        out_scale=quant_scale2,
        out_offset=quant_offset2,
        steps=(dequant_scale1, quant_scale1, dequant_scale2),
    )
    return attend(request)[0]


def _both(factors: Tensor | None) -> tuple[Tensor | None, Tensor | None]:
    return (None, None) if factors is None else (factors[0], factors[1])


@operator()
def npu_fused_infer_attention_score(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    pse_shift: Tensor | None = None,
    atten_mask: Tensor | None = None,
    actual_seq_lengths: list[int] | None = None,
    actual_seq_lengths_kv: list[int] | None = None,
    dequant_scale1: Tensor | None = None,
    quant_scale1: Tensor | None = None,
    dequant_scale2: Tensor | None = None,
    quant_scale2: Tensor | None = None,
    quant_offset2: Tensor | None = None,
    antiquant_scale: Tensor | None = None,
    antiquant_offset: Tensor | None = None,
    key_antiquant_scale: Tensor | None = None,
    key_antiquant_offset: Tensor | None = None,
    value_antiquant_scale: Tensor | None = None,
    value_antiquant_offset: Tensor | None = None,
    block_table: Tensor | None = None,
    query_padding_size: Tensor | None = None,
    kv_padding_size: Tensor | None = None,
    key_shared_prefix: Tensor | None = None,
    value_shared_prefix: Tensor | None = None,
    actual_shared_prefix_len: list[int] | None = None,
    query_rope: Tensor | None = None,
    key_rope: Tensor | None = None,
    key_rope_antiquant_scale: Tensor | None = None,
    num_heads: int = 1,
    scale: float = 1.0,
    pre_tokens: int = _FAR,
    next_tokens: int = _FAR,
    input_layout: str = "BSH",
    num_key_value_heads: int = 0,
    sparse_mode: int = 0,
    inner_precise: int = 0,
    block_size: int = 0,
    antiquant_mode: int = 0,
    key_antiquant_mode: int = 0,
    value_antiquant_mode: int = 0,
    softmax_lse_flag: bool = False,
) -> tuple[Tensor, Tensor]:
    refuse_given(
        "npu_fused_infer_attention_score",
        query_padding_size=query_padding_size,
        kv_padding_size=kv_padding_size,
        key_shared_prefix=key_shared_prefix,
        key_rope_antiquant_scale=key_rope_antiquant_scale,
    )
    scales, offsets = _both(antiquant_scale), _both(antiquant_offset)
    separate = key_antiquant_scale is not None
    request = Request(
        "npu_fused_infer_attention_score",
        query,
        key,
        value,
        num_heads,
        num_key_value_heads,
        input_layout,
        scale,
        Sparse(sparse_mode, pre_tokens, next_tokens, precise=inner_precise),
        mask=atten_mask,
        pse=pse_shift,
        query_lengths=actual_seq_lengths,
        key_lengths=actual_seq_lengths_kv,
        table=block_table,
        block=block_size,
        query_rope=query_rope,
        key_rope=key_rope,
        key_scale=key_antiquant_scale if separate else scales[0],
        key_offset=key_antiquant_offset if separate else offsets[0],
        key_mode=key_antiquant_mode if separate else antiquant_mode,
        value_scale=value_antiquant_scale if separate else scales[1],
        value_offset=value_antiquant_offset if separate else offsets[1],
        value_mode=value_antiquant_mode if separate else antiquant_mode,
        out_scale=quant_scale2,
        out_offset=quant_offset2,
        steps=(dequant_scale1, quant_scale1, dequant_scale2),
    )
    out, sums = attend(request)
    return out, sums if softmax_lse_flag else torch.zeros(0)


@operator()
def npu_fused_infer_attention_score_v2(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    query_rope: Tensor | None = None,
    key_rope: Tensor | None = None,
    pse_shift: Tensor | None = None,
    atten_mask: Tensor | None = None,
    actual_seq_qlen: list[int] | None = None,
    actual_seq_kvlen: list[int] | None = None,
    block_table: Tensor | None = None,
    dequant_scale_key: Tensor | None = None,
    dequant_offset_key: Tensor | None = None,
    dequant_scale_value: Tensor | None = None,
    dequant_offset_value: Tensor | None = None,
    quant_scale_out: Tensor | None = None,
    quant_offset_out: Tensor | None = None,
    learnable_sink: Tensor | None = None,
    num_query_heads: int = 1,
    num_key_value_heads: int = 0,
    softmax_scale: float = 1.0,
    pre_tokens: int = _FAR,
    next_tokens: int = _FAR,
    input_layout: str = "BSH",
    sparse_mode: int = 0,
    block_size: int = 0,
    key_quant_mode: int = 0,
    value_quant_mode: int = 0,
    inner_precise: int = 0,
    return_softmax_lse: bool = False,
    **others: Any,
) -> tuple[Tensor, Tensor]:
    refuse_given("npu_fused_infer_attention_score_v2", **{k: v for k, v in others.items() if v != 0})
    request = Request(
        "npu_fused_infer_attention_score_v2",
        query,
        key,
        value,
        num_query_heads,
        num_key_value_heads,
        input_layout,
        softmax_scale,
        Sparse(sparse_mode, pre_tokens, next_tokens, precise=inner_precise),
        mask=atten_mask,
        pse=pse_shift,
        query_lengths=actual_seq_qlen,
        key_lengths=actual_seq_kvlen,
        table=block_table,
        block=block_size,
        query_rope=query_rope,
        key_rope=key_rope,
        key_scale=dequant_scale_key,
        key_offset=dequant_offset_key,
        key_mode=key_quant_mode,
        value_scale=dequant_scale_value,
        value_offset=dequant_offset_value,
        value_mode=value_quant_mode,
        out_scale=quant_scale_out,
        out_offset=quant_offset_out,
        sink=None if learnable_sink is None else wide(learnable_sink),
    )
    out, sums = attend(request)
    return out, sums if return_softmax_lse else torch.zeros(0)
