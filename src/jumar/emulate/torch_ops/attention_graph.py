"""What capturing attention into an NPU graph needs first: scratch memory, and results to write into.

torch_npu/npu/_npugraph_handlers: each attention is replaced by its out= form.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from jumar.emulate.torch_ops.attention import to_heads
from jumar.emulate.torch_ops.attention_request import laid_out
from jumar.emulate.torch_ops.registry import operator


@operator(
    "_npu_fused_infer_attention_score_get_max_workspace",
    "_npu_fused_infer_attention_score_v2_get_max_workspace",
    "_npu_fusion_attention_v3_get_max_workspace",
    "_npu_fusion_attention_grad_v3_get_max_workspace",
)
def no_workspace(*args: Any, **kwargs: Any) -> Tensor:
    """The CPU needs no scratch memory from the caller."""
    return torch.empty(0, dtype=torch.uint8)


@operator()
def _npu_fused_infer_attention_score_infer_output(
    query: Tensor,
    value: Tensor,
    *,
    input_layout: str = "BSH",
    quant_scale2: Tensor | None = None,
    block_table: Tensor | None = None,
    num_heads: int = 1,
    num_key_value_heads: int = 0,
    softmax_lse_flag: bool = False,
    query_rope: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    size = _value_size(value, input_layout, num_key_value_heads or num_heads, block_table is not None)
    return _results(query, num_heads, input_layout, size, quant_scale2 is not None, softmax_lse_flag)


@operator()
def _npu_fused_infer_attention_score_v2_infer_output(
    query: Tensor,
    value: Tensor,
    *,
    query_dtype: int | None = None,
    value_dtype: int | None = None,
    input_layout: str = "BSH",
    quant_scale_out: Tensor | None = None,
    block_table: Tensor | None = None,
    num_query_heads: int = 1,
    num_key_value_heads: int = 0,
    return_softmax_lse: bool = False,
    query_rope: Tensor | None = None,
    out_dtype: int | None = None,
) -> tuple[Tensor, Tensor]:
    size = _value_size(value, input_layout, num_key_value_heads or num_query_heads, block_table is not None)
    return _results(query, num_query_heads, input_layout, size, quant_scale_out is not None, return_softmax_lse)


def _value_size(value: Tensor, layout: str, heads: int, paged: bool) -> int:
    joined = value.dim() == 3 if paged else layout.startswith("BSH")
    size: int = value.shape[-1]
    return size // heads if joined else size


def _results(
    query: Tensor, heads: int, layout: str, size: int, quantised: bool, with_sums: bool
) -> tuple[Tensor, Tensor]:
    dtype = torch.int8 if quantised else query.dtype if query.dtype.is_floating_point else torch.float16
    source, _, target = layout.partition("_")
    if source in ("TND", "NTD"):
        rows = query.shape[0 if source == "TND" else 1]
        shape = (heads, rows, size) if (target or source) == "NTD" else (rows, heads, size)
        return torch.empty(shape, dtype=dtype), torch.empty((rows, heads, 1) if with_sums else 0)
    if source == "NSD":
        sums = (1, *query.shape[:-1], 1) if with_sums else 0
        return torch.empty((*query.shape[:-1], size), dtype=dtype), torch.empty(sums)
    batch, _, rows, _ = to_heads(query, heads, source).shape
    out = laid_out(torch.empty(batch, heads, rows, size, dtype=dtype), target or source).contiguous()
    return out, torch.empty((batch, heads, rows, 1) if with_sums else 0)


@operator()
def _npu_fusion_attention_v3_infer_output(
    query: Tensor, key: Tensor, value: Tensor, head_num: int, input_layout: str
) -> tuple[Tensor, Tensor, Tensor]:
    if input_layout == "TND":
        out = query.new_empty((*query.shape[:-1], value.shape[-1]))
        sums = torch.empty(query.shape[0], head_num, 8)
    else:
        batch, _, rows, size = to_heads(query, head_num, input_layout).shape
        key_heads = key.shape[-1] // size if input_layout in ("BSH", "SBH") else 1
        wide_value = value.shape[-1] // key_heads if input_layout in ("BSH", "SBH") else value.shape[-1]
        out = query.new_empty((*query.shape[:-1], query.shape[-1] // size * wide_value))
        sums = torch.empty(batch, head_num, rows, 8)
    return out, sums, torch.empty_like(sums)


@operator()
def _npu_fusion_attention_grad_v3_infer_output(
    query: Tensor, key: Tensor, value: Tensor, pse: Tensor | None = None, sink: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    dq, dk, dv, dpse, dsink = (
        torch.empty(0) if t is None else torch.empty_like(t) for t in (query, key, value, pse, sink)
    )
    return dq, dk, dv, dpse, dsink
