"""Products of experts fused with the exchange of their tokens between ranks.

Ascend/op-plugin docs/zh/custom_APIs/torch_npu/torch_npu-npu_alltoallv_gmm.md and torch_npu-npu_gmm_alltoallv.md. Counts
are by rank, then by expert of a rank; an expert's tokens lie together in the order of the ranks.
"""

from __future__ import annotations

import torch
from torch import Tensor

from jumar.emulate.torch_ops.formula import wide
from jumar.emulate.torch_ops.group import joined
from jumar.emulate.torch_ops.registry import operator


def _by_expert(rows: Tensor, counts: list[int], experts: int) -> Tensor:
    """From the order rank, expert to the order expert, rank."""
    parts = rows.split(counts)
    return torch.cat([part for expert in range(experts) for part in parts[expert::experts]])


def _by_rank(rows: Tensor, counts: list[int], experts: int) -> Tensor:
    """The way back: `counts` are by rank, then by expert."""
    turned = torch.tensor(counts).reshape(-1, experts).t().flatten().tolist()
    parts, ranks = rows.split(turned), len(counts) // experts
    return torch.cat([part for rank in range(ranks) for part in parts[rank::ranks]])


def _experts(rows: Tensor, weight: Tensor, counts: list[int], transposed: bool) -> Tensor:
    per_expert = torch.tensor(counts).reshape(-1, weight.shape[0]).sum(0).tolist()
    factors = weight.mT if transposed else weight
    parts = [wide(part) @ wide(factor) for part, factor in zip(rows.split(per_expert), factors)]
    return torch.cat(parts).to(rows.dtype)


def _per_rank(counts: list[int], ranks: int) -> list[int]:
    found: list[int] = torch.tensor(counts).reshape(ranks, -1).sum(1).tolist()
    return found


def _shared(x: Tensor | None, weight: Tensor | None, transposed: bool) -> Tensor | None:
    if x is None or weight is None:
        return None
    return (wide(x) @ wide(weight.t() if transposed else weight)).to(x.dtype)


@operator()
def npu_alltoallv_gmm(
    gmm_x: Tensor,
    gmm_weight: Tensor,
    hcom: str,
    ep_world_size: int,
    send_counts: list[int],
    recv_counts: list[int],
    *,
    send_counts_tensor: Tensor | None = None,
    recv_counts_tensor: Tensor | None = None,
    mm_x: Tensor | None = None,
    mm_weight: Tensor | None = None,
    trans_gmm_weight: bool = False,
    trans_mm_weight: bool = False,
    permute_out_flag: bool = False,
    comm_mode: str | None = None,
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    with joined(hcom, "npu_alltoallv_gmm", ep_world_size) as group:
        parts = gmm_x.split(_per_rank(send_counts, group.size))
        received = torch.cat(group.all_to_all(parts, _per_rank(recv_counts, group.size)))
    rows = _by_expert(received, recv_counts, gmm_weight.shape[0])
    y = _experts(rows, gmm_weight, recv_counts, trans_gmm_weight)
    return y, _shared(mm_x, mm_weight, trans_mm_weight), rows if permute_out_flag else None


@operator()
def npu_gmm_alltoallv(
    gmm_x: Tensor,
    gmm_weight: Tensor,
    hcom: str,
    ep_world_size: int,
    send_counts: list[int],
    recv_counts: list[int],
    *,
    send_counts_tensor: Tensor | None = None,
    recv_counts_tensor: Tensor | None = None,
    mm_x: Tensor | None = None,
    mm_weight: Tensor | None = None,
    trans_gmm_weight: bool = False,
    trans_mm_weight: bool = False,
    comm_mode: str | None = None,
) -> tuple[Tensor, Tensor | None]:
    y = _experts(gmm_x, gmm_weight, send_counts, trans_gmm_weight)
    rows = _by_rank(y, send_counts, gmm_weight.shape[0])
    with joined(hcom, "npu_gmm_alltoallv", ep_world_size) as group:
        parts = rows.split(_per_rank(send_counts, group.size))
        received = torch.cat(group.all_to_all(parts, _per_rank(recv_counts, group.size)))
    return received, _shared(mm_x, mm_weight, trans_mm_weight)
