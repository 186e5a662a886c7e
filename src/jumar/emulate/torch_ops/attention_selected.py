"""Attention over keys that an index chose: the index itself, and attention over what it chose.

Ascend/op-plugin docs/zh/custom_APIs/torch_npu/torch_npu-npu_lightning_indexer.md and -npu_sparse_flash_attention.md.
"""

from __future__ import annotations

import torch
from torch import Tensor

from jumar.core.compat import zip
from jumar.emulate.torch_ops.atb_attention import page_rows
from jumar.emulate.torch_ops.attention import as_list
from jumar.emulate.torch_ops.formula import wide
from jumar.emulate.torch_ops.registry import not_emulated, operator

_FAR = 2**63 - 1


def _sequences(x: Tensor, layout: str, lengths: list[int] | None, table: Tensor | None = None) -> list[Tensor]:
    """Each sequence as (rows, heads, size); lengths of packed ones are those of all up to there."""
    if layout == "PA_BSND":
        if table is None or lengths is None:
            raise RuntimeError("block_table and actual_seq_lengths are needed for layout PA_BSND")
        return [page_rows(x, row, length, x.shape[2]) for row, length in zip(table, lengths, strict=True)]
    if layout == "TND":
        ends = lengths or [x.shape[0]]
        return [x[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)]
    return [row[: lengths[i] if lengths else None] for i, row in enumerate(x)]


def _later(queries: int, keys: int) -> Tensor:
    """True for the keys behind a query, where the last of both lie side by side."""
    return torch.ones(queries, keys, dtype=torch.bool).triu(keys - queries + 1)


def _joined(parts: list[Tensor], like: Tensor, layout: str, fill: float) -> Tensor:
    """(batch, rows, …) with rows beyond a length filled, or one behind the other."""
    if layout == "TND":
        return torch.cat(parts)
    whole = parts[0].new_full((len(parts), like.shape[1], *parts[0].shape[1:]), fill)
    for row, part in zip(whole, parts, strict=True):
        row[: len(part)] = part
    return whole


@operator()
def npu_lightning_indexer(
    query: Tensor,
    key: Tensor,
    weights: Tensor,
    *,
    actual_seq_lengths_query: Tensor | None = None,
    actual_seq_lengths_key: Tensor | None = None,
    block_table: Tensor | None = None,
    layout_query: str = "BSND",
    layout_key: str = "BSND",
    sparse_count: int = 2048,
    sparse_mode: int = 3,
    pre_tokens: int = _FAR,
    next_tokens: int = _FAR,
    return_value: bool = False,
) -> tuple[Tensor, Tensor]:
    lengths = as_list(actual_seq_lengths_query)
    queries = _sequences(query, layout_query, lengths)
    factors = _sequences(weights.unsqueeze(-1), layout_query, lengths)
    keys = _sequences(key, layout_key, as_list(actual_seq_lengths_key), block_table)
    chosen, values = [], []
    for q, k, w in zip(queries, keys, factors, strict=True):
        group = q.shape[1] // k.shape[1]
        spread = wide(k).repeat_interleave(group, 1)
        heads = torch.einsum("qnd,knd->qnk", wide(q), spread).relu() * wide(w)
        scores = heads.unflatten(1, (-1, group)).sum(2)
        if sparse_mode == 3:
            scores = scores.masked_fill(_later(len(q), len(k)).unsqueeze(1), float("-inf"))
        best = scores.topk(min(sparse_count, len(k)), -1)
        room = sparse_count - best.indices.shape[-1]
        places = best.indices.masked_fill(best.values == float("-inf"), -1)
        chosen.append(torch.nn.functional.pad(places, (0, room), value=-1))
        values.append(torch.nn.functional.pad(best.values, (0, room), value=float("-inf")))
    indices = _joined(chosen, query, layout_query, -1).to(torch.int32)
    if not return_value:
        return indices, torch.empty(0, dtype=query.dtype)
    return indices, _joined(values, query, layout_query, float("-inf")).to(query.dtype)


@operator()
def npu_quant_lightning_indexer(
    query: Tensor,
    key: Tensor,
    weights: Tensor,
    query_dequant_scale: Tensor,
    key_dequant_scale: Tensor,
    query_quant_mode: int,
    key_quant_mode: int,
    *,
    actual_seq_lengths_query: Tensor | None = None,
    actual_seq_lengths_key: Tensor | None = None,
    block_table: Tensor | None = None,
    layout_query: str = "BSND",
    layout_key: str = "BSND",
    sparse_count: int = 2048,
    sparse_mode: int = 3,
    pre_tokens: int = _FAR,
    next_tokens: int = _FAR,
    query_dtype: int | None = None,
    key_dtype: int | None = None,
) -> Tensor:
    """Numbers of 8 bits with a scale for each row and head; that of a query is multiplied with its weight."""
    if query_quant_mode or key_quant_mode:
        raise not_emulated("npu_quant_lightning_indexer", "with a quantisation mode other than 0")
    if query_dtype is not None or key_dtype is not None:
        raise not_emulated("npu_quant_lightning_indexer", "with `query_dtype` or `key_dtype`")
    indices, _ = npu_lightning_indexer(
        query.float(),
        key.float() * key_dequant_scale.float().unsqueeze(-1),
        weights.float() * query_dequant_scale.float(),
        actual_seq_lengths_query=actual_seq_lengths_query,
        actual_seq_lengths_key=actual_seq_lengths_key,
        block_table=block_table,
        layout_query=layout_query,
        layout_key=layout_key,
        sparse_count=sparse_count,
        sparse_mode=sparse_mode,
    )
    return indices


@operator()
def npu_sparse_flash_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor | None,
    sparse_indices: Tensor,
    scale_value: float,
    *,
    block_table: Tensor | None = None,
    actual_seq_lengths_query: Tensor | None = None,
    actual_seq_lengths_kv: Tensor | None = None,
    query_rope: Tensor | None = None,
    key_rope: Tensor | None = None,
    sparse_block_size: int = 1,
    layout_query: str = "BSND",
    layout_kv: str = "BSND",
    sparse_mode: int = 3,
    pre_tokens: int = _FAR,
    next_tokens: int = _FAR,
    attention_mode: int = 0,
    return_softmax_lse: bool = False,
    sinks: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    if sinks is not None:
        raise not_emulated("npu_sparse_flash_attention", "with `sinks`")
    lengths, key_lengths = as_list(actual_seq_lengths_query), as_list(actual_seq_lengths_kv)
    q_parts = [_sequences(t, layout_query, lengths) for t in (query, query_rope) if t is not None]
    k_parts = [_sequences(t, layout_kv, key_lengths, block_table) for t in (key, key_rope) if t is not None]
    values = k_parts[0] if value is None else _sequences(value, layout_kv, key_lengths, block_table)
    picks = _sequences(sparse_indices, layout_query, lengths)
    outs, tops, totals = [], [], []
    for i, (pick, v) in enumerate(zip(picks, values, strict=True)):
        q, k = (torch.cat([wide(part[i]) for part in parts], -1) for parts in (q_parts, k_parts))
        seen = _seen(pick, len(k), sparse_block_size)
        if sparse_mode == 3:
            seen &= ~_later(len(q), len(k))
        out, top, total = _over_seen(q, k, wide(v), seen, scale_value)
        outs.append(out)
        tops.append(top)
        totals.append(total)
    result = _joined(outs, query, layout_query, 0.0).to(query.dtype)
    if not return_softmax_lse:
        return result, torch.empty(0), torch.empty(0)
    first = 0 if layout_query == "TND" else 1
    top, total = (_joined(t, query, layout_query, 0.0).transpose(first, first + 1).contiguous() for t in (tops, totals))
    return result, top, total


def _seen(picks: Tensor, keys: int, block: int) -> Tensor:
    """(heads, queries, keys): true for the keys of the chosen blocks; -1 chooses none."""
    blocks = -(-keys // block)
    chosen = torch.zeros(*picks.shape[:2], blocks + 1, dtype=torch.bool)
    chosen.scatter_(-1, picks.long().masked_fill(picks < 0, blocks), True)
    return chosen[..., :blocks].repeat_interleave(block, -1)[..., :keys].transpose(0, 1)


def _over_seen(q: Tensor, k: Tensor, v: Tensor, seen: Tensor, scale: float) -> tuple[Tensor, Tensor, Tensor]:
    """(rows, heads, size); the largest score and the sum of each row as (rows, key heads, group)."""
    group = q.shape[1] // k.shape[1]
    spread_k, spread_v = (t.repeat_interleave(group, 1).transpose(0, 1) for t in (k, v))
    scores = q.transpose(0, 1) @ spread_k.mT * scale
    scores = scores.masked_fill(~seen.repeat_interleave(group, 0), float("-inf"))
    top = scores.amax(-1, keepdim=True)
    weights = torch.nan_to_num((scores - top).exp())
    total = weights.sum(-1, keepdim=True)
    out = torch.nan_to_num(weights / total) @ spread_v
    shaped = [t.squeeze(-1).unflatten(0, (-1, group)).permute(2, 0, 1) for t in (top, total)]
    return out.transpose(0, 1), shaped[0], shaped[1]
