"""Mixture of experts over several ranks: tokens go to the ranks of their experts and come back weighted.

Ascend/op-plugin docs/zh/custom_APIs/torch_npu/torch_npu-npu_moe_distribute_dispatch_v2.md and its relatives. A rank
receives its tokens by local expert, then by the rank they came from, then in their order there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from jumar.emulate.formulas.norm import rms_norm
from jumar.emulate.torch_ops.formula import wide
from jumar.emulate.torch_ops.group import Group, joined
from jumar.emulate.torch_ops.integers import to_integers
from jumar.emulate.torch_ops.registry import not_emulated, operator

_INFO = 128
"""Numbers per received token in `assist_info_for_combine`; the first three are used: rank, token, place in its row."""


class Layout(NamedTuple):
    """Which rank has which experts: shared ones first, each on several ranks, then those of the router."""

    ranks: int
    experts: int
    shared: int
    shared_ranks: int

    @property
    def per_rank(self) -> int:
        return self.experts // (self.ranks - self.shared_ranks)

    @property
    def copies(self) -> int:
        return self.shared_ranks // max(self.shared, 1)

    def local(self, rank: int) -> int:
        return 1 if rank < self.shared_ranks else self.per_rank

    def rank_of(self, expert: int) -> int:
        return self.shared_ranks + expert // self.per_rank

    def shared_targets(self, rank: int) -> list[int]:
        """The copies of the shared experts that the tokens of a rank go to."""
        return [s * self.copies + rank % self.copies for s in range(self.shared)] if self.shared_ranks else []


def _layout(name: str, ranks: int, rank: int, experts: int, shared: int, shared_ranks: int) -> Layout:
    """In torch_npu's words (MoeDistributeDispatchV2KernelOpApi.cpp)."""
    if not 0 <= rank < ranks:
        raise RuntimeError(
            f"ep_rank_id should be in [0, ep_world_size), but got ep_world_size: {ranks}, ep_rank_id: {rank}. "
        )
    if not 0 <= shared_ranks < ranks:
        raise RuntimeError(
            "shared_expert_rank_num should be in [0, ep_world_size), but got ep_world_size: "
            f"{ranks}, shared_expert_rank_num: {shared_ranks}. "
        )
    if shared_ranks and (shared <= 0 or shared_ranks % shared):
        raise RuntimeError(
            "shared_expert_num and shared_expertrank_num have obvious value situations: but the current input value is "
            f" shared_expert_num: {shared}, shared_expert_rank_num: {shared_ranks}. "
        )
    if experts % (ranks - shared_ranks):
        raise RuntimeError(f"{name}: moe_expert_num {experts} is not divisible by {ranks - shared_ranks} ranks")
    return Layout(ranks, experts, shared if shared_ranks else 0, shared_ranks)


class Places(NamedTuple):
    """Where the pairs (token, place in its row of experts) of one rank go."""

    tokens: Tensor
    """Of each pair that is sent, sorted by expert, then by token."""
    choices: Tensor
    experts: Tensor
    active: Tensor
    """Tokens that take part at all."""


def _places(expert_ids: Tensor, mask: Tensor | None, experts: int) -> Places:
    pairs = torch.ones_like(expert_ids, dtype=torch.bool)
    if mask is not None:
        pairs &= mask.bool() if mask.dim() == 2 else mask.bool().unsqueeze(-1)
    active = pairs.any(-1)
    tokens, choices = (pairs & (expert_ids < experts)).nonzero(as_tuple=True)
    chosen = expert_ids[tokens, choices].long()
    order = chosen.argsort(stable=True)
    return Places(tokens[order], choices[order], chosen[order], active.nonzero().flatten())


class Token(NamedTuple):
    """What travels with a token, a row each."""

    x: Tensor
    scale: Tensor
    info: Tensor
    """Source rank, token, choice, local expert at the target."""
    weight: Tensor


def _outgoing(group: Group, layout: Layout, places: Places, x: Tensor, request: dict[str, Any]) -> list[Token]:
    """One batch per rank."""
    batches = []
    shared = layout.shared_targets(group.rank)
    for rank in range(layout.ranks):
        if rank < layout.shared_ranks:
            tokens = places.active if rank in shared else places.active[:0]
            experts = torch.zeros_like(tokens)
            choices = torch.full_like(tokens, request["choices"] + rank // max(layout.copies, 1))
            rows = experts + rank // max(layout.copies, 1)
        else:
            chosen = places.experts // layout.per_rank == rank - layout.shared_ranks
            tokens, choices = places.tokens[chosen], places.choices[chosen]
            experts = places.experts[chosen] % layout.per_rank
            rows = places.experts[chosen] + layout.shared
        batches.append(_batch(group.rank, x, tokens, choices, experts, rows, request))
    return batches


def _batch(
    rank: int, x: Tensor, tokens: Tensor, choices: Tensor, experts: Tensor, rows: Tensor, request: dict[str, Any]
) -> Token:
    values, scale = _quantised(x[tokens], request["scales"], tokens, rows, request["mode"])
    info = torch.stack([torch.full_like(tokens, rank), tokens, choices, experts], -1)
    weights = request["weights"]
    inside = choices.clamp(max=request["choices"] - 1)
    weight = torch.zeros(len(tokens)) if weights is None else weights[tokens, inside].float()
    return Token(values, scale, info, weight)


def _quantised(x: Tensor, scales: Tensor | None, tokens: Tensor, rows: Tensor, mode: int) -> tuple[Tensor, Tensor]:
    if x.dtype == torch.int32 and scales is not None:
        return x, scales[tokens].float()
    if mode == 0 and scales is None:
        return x, torch.zeros(len(x))
    values = x.float() if scales is None else x.float() * scales[rows if scales.shape[0] > 1 else 0].float()
    if mode != 2:
        return to_integers(values, torch.int8), torch.zeros(len(x))
    most = values.abs().amax(-1) if len(x) else torch.zeros(0)
    factor = torch.where(most > 0, 127.0 / most, torch.ones_like(most))
    return to_integers(values * factor.unsqueeze(-1), torch.int8), 1.0 / factor


def _dispatch(name: str, x: Tensor, expert_ids: Tensor, args: dict[str, Any]) -> tuple[Tensor, ...]:
    if x.dim() != 2 or expert_ids.dim() != 2:
        raise RuntimeError("The x and expert_ids should be 2D")
    mode = args.get("quant_mode", 0)
    ranks, rank = args["ep_world_size"], args["ep_rank_id"]
    layout = _layout(
        name,
        ranks,
        rank,
        args["moe_expert_num"],
        args.get("shared_expert_num", 1),
        args.get("shared_expert_rank_num", 0),
    )
    with joined(args["group_ep"], name, ranks) as group:
        for key in ("elastic_info", "y_dtype", "x_dtype", "scales_dtype"):
            if args.get(key) is not None:
                raise not_emulated(name, f"with `{key}`")
        if mode not in (0, 1, 2) or args.get("expert_shard_type", 0) != 0:
            raise not_emulated(name, f"with quant_mode {mode} or expert_shard_type {args.get('expert_shard_type', 0)}")
        places = _places(expert_ids, args.get("x_active_mask"), layout.experts)
        weights = args.get("expert_scales")
        request = {"scales": args.get("scales"), "mode": mode, "weights": weights, "choices": expert_ids.shape[1]}
        token = _received(group, _outgoing(group, layout, places, x, request))
    counts = torch.zeros(layout.local(rank), ranks, dtype=torch.int64)
    counts.index_put_(
        (token.info[:, 3], token.info[:, 0]), torch.ones(len(token.x), dtype=torch.int64), accumulate=True
    )
    return _results(layout, token, counts, x, expert_ids, args)


def _received(group: Group, batches: list[Token]) -> Token:
    parts = [torch.cat(group.exchange(list(column))) for column in zip(*batches)]
    token = Token(*parts)
    order = token.info[:, 3].argsort(stable=True)  # ranks are in their order already
    return Token(*(part[order] for part in token))


def _results(
    layout: Layout, token: Token, counts: Tensor, x: Tensor, expert_ids: Tensor, args: dict[str, Any]
) -> tuple[Tensor, ...]:
    bs, k = expert_ids.shape
    rank, ranks = args["ep_rank_id"], args["ep_world_size"]
    whole = args.get("global_bs", 0) or bs * ranks
    tp = args.get("tp_world_size", 0)
    if rank < layout.shared_ranks:
        room = whole // ranks * -(-ranks // layout.copies)
    else:
        room = whole * min(layout.per_rank, k)
    number = counts.sum(1)
    received = counts.flatten().cumsum(0).to(torch.int32)
    if args.get("expert_scales") is not None:  # room for the two-step exchange between machines
        received = _padded(received, len(received) + 2 * whole * k * (ranks // 8))
    values, scale, own = token.x, token.scale, torch.zeros(0, dtype=torch.int32)
    if tp > 1:
        values, scale, own = _gathered(args, values, scale)
        received = torch.cat([received, torch.zeros_like(received)])
    elif tp == 1:
        own = torch.tensor([len(values)], dtype=torch.int32)
    info = torch.zeros(len(token.info), _INFO, dtype=torch.int32)
    info[:, :3] = token.info[:, :3].to(torch.int32)
    return (
        _padded(values, room * max(tp, 1)),
        _padded(scale, room * max(tp, 1)),
        info.flatten() if args["assist"] else _running(expert_ids),
        number if args.get("expert_token_nums_type", 1) == 1 else number.cumsum(0),
        received,
        own,
        _padded(token.weight, room),
    )


def _running(expert_ids: Tensor) -> Tensor:
    """How many tokens of this rank went to the same expert before."""
    flat = expert_ids.flatten().long()
    same = flat.unsqueeze(0) == flat.unsqueeze(1)
    return same.tril(-1).sum(1).to(torch.int32)


def _gathered(args: dict[str, Any], values: Tensor, scale: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Ranks that share the work on an expert get each other's tokens, behind their own."""
    with joined(args["group_tp"], "npu_moe_distribute_dispatch", args["tp_world_size"]) as group:
        rows = [part.item() for part in group.all_gather(torch.tensor([len(values)]))]
        parts = [group.all_to_all([t] * group.size, rows) for t in (values, scale)]
    order = [group.rank, *(r for r in range(group.size) if r != group.rank)]
    return (*(torch.cat([part[r] for r in order]) for part in parts), torch.tensor(rows, dtype=torch.int32))


def _padded(x: Tensor, rows: int) -> Tensor:
    if len(x) >= rows:
        return x[:rows]
    return torch.cat([x, torch.zeros((rows - len(x), *x.shape[1:]), dtype=x.dtype)])


@operator()
def npu_moe_distribute_dispatch(
    x: Tensor,
    expert_ids: Tensor,
    group_ep: str,
    ep_world_size: int,
    ep_rank_id: int,
    moe_expert_num: int,
    **others: Any,
) -> tuple[Tensor, ...]:
    given = {"group_ep": group_ep, "ep_world_size": ep_world_size, "ep_rank_id": ep_rank_id, "assist": False}
    return _dispatch(
        "npu_moe_distribute_dispatch", x, expert_ids, {**given, "moe_expert_num": moe_expert_num, **others}
    )


@operator()
def npu_moe_distribute_dispatch_v2(
    x: Tensor,
    expert_ids: Tensor,
    group_ep: str,
    ep_world_size: int,
    ep_rank_id: int,
    moe_expert_num: int,
    **others: Any,
) -> tuple[Tensor, ...]:
    given = {"group_ep": group_ep, "ep_world_size": ep_world_size, "ep_rank_id": ep_rank_id, "assist": True}
    found = _dispatch(
        "npu_moe_distribute_dispatch_v2", x, expert_ids, {**given, "moe_expert_num": moe_expert_num, **others}
    )
    room = max(expert_ids.numel(), found[0].shape[0] // max(others.get("tp_world_size", 0), 1) * _INFO)
    return (*found[:2], _padded(found[2], room), *found[3:])


def _combine(name: str, expand_x: Tensor, expert_ids: Tensor, counts: Tensor, weights: Tensor, args: Any) -> Tensor:
    """The weighted sum per token, in float32."""
    if expand_x.dim() != 2 or expert_ids.dim() != 2:
        raise RuntimeError("The x and expert_ids should be 2D")
    ranks, rank = args["ep_world_size"], args["ep_rank_id"]
    layout = _layout(
        name,
        ranks,
        rank,
        args["moe_expert_num"],
        args.get("shared_expert_num", 1),
        args.get("shared_expert_rank_num", 0),
    )
    with joined(args["group_ep"], name, ranks) as group:
        if args.get("comm_quant_mode", 0) or args.get("elastic_info") is not None:
            raise not_emulated(name, "with `comm_quant_mode` or `elastic_info`")
        if args.get("tp_world_size", 0) > 1:
            expand_x = _summed(args, expand_x, args["tp_send_counts"])
        ends = counts[: layout.local(rank) * ranks].long()
        pieces = expand_x[: int(ends[-1])].split(torch.diff(ends, prepend=ends.new_zeros(1)).tolist())
        sent = [torch.cat(pieces[r::ranks]) for r in range(ranks)]  # by expert, then by rank
        returned = group.exchange(sent)
    return _merged(layout, returned, expert_ids, weights, args)


def _merged(layout: Layout, returned: list[Tensor], expert_ids: Tensor, weights: Tensor, args: Any) -> Tensor:
    places = _places(expert_ids, args.get("x_active_mask"), layout.experts)
    out = torch.zeros(expert_ids.shape[0], returned[0].shape[-1])
    rows = torch.cat(returned[layout.shared_ranks :]).float()  # by expert over all ranks, then by token: as `places`
    out.index_add_(0, places.tokens, rows * weights[places.tokens, places.choices].float().unsqueeze(-1))
    for rank in layout.shared_targets(args["ep_rank_id"]):
        out.index_add_(0, places.active, returned[rank].float())
    if args.get("shared_expert_x") is not None:
        out += args["shared_expert_x"].float().reshape(out.shape)
    return out + _special(layout.experts, expert_ids, weights, args)


def _special(first: int, expert_ids: Tensor, weights: Tensor, args: Any) -> Tensor:
    """Experts without weights: zero, the token itself, a constant mixture."""
    zero, copy, const = (args.get(f"{kind}_expert_num", 0) for kind in ("zero", "copy", "const"))
    if not copy and not const:
        return torch.zeros(())
    x = args["ori_x"].float()
    total = torch.zeros_like(x)
    for choice in range(expert_ids.shape[1]):
        ids = expert_ids[:, choice].long() - first - zero
        weight = weights[:, choice].float().unsqueeze(-1)
        total += torch.where(((ids >= 0) & (ids < copy)).unsqueeze(-1), weight * x, 0.0)
        which = ids - copy
        if const:
            at = which.clamp(0, const - 1)
            first_factor, second_factor, values = (
                args[key].float()[at] for key in ("const_expert_alpha_1", "const_expert_alpha_2", "const_expert_v")
            )
            mixed = first_factor * x + second_factor * values
            total += torch.where(((which >= 0) & (which < const)).unsqueeze(-1), weight * mixed, 0.0)
    return total


def _summed(args: Any, x: Tensor, counts: Tensor) -> Tensor:
    """Ranks that share the work on an expert add up what they have for each other's tokens."""
    with joined(args["group_tp"], "npu_moe_distribute_combine", args["tp_world_size"]) as group:
        rows = counts.tolist()
        order = [group.rank, *(r for r in range(group.size) if r != group.rank)]
        parts = dict(zip(order, x[: sum(rows)].split([rows[r] for r in order])))
        found = group.all_to_all([parts[r] for r in range(group.size)], [rows[group.rank]] * group.size)
    return torch.stack([part.float() for part in found]).sum(0)


@operator("npu_moe_distribute_combine", "npu_moe_distribute_combine_v2")
def npu_moe_distribute_combine(
    expand_x: Tensor,
    expert_ids: Tensor,
    expand_idx: Tensor,
    ep_send_counts: Tensor,
    expert_scales: Tensor,
    group_ep: str,
    ep_world_size: int,
    ep_rank_id: int,
    moe_expert_num: int,
    **others: Any,
) -> Tensor:
    given = {"group_ep": group_ep, "ep_world_size": ep_world_size, "ep_rank_id": ep_rank_id}
    args = {**given, "moe_expert_num": moe_expert_num, **others}
    kind = torch.bfloat16 if expand_x.dtype == torch.int32 else expand_x.dtype
    return _combine("npu_moe_distribute_combine", expand_x, expert_ids, ep_send_counts, expert_scales, args).to(kind)


@operator()
def npu_moe_distribute_combine_add_rms_norm(
    expand_x: Tensor,
    expert_ids: Tensor,
    expand_idx: Tensor,
    ep_send_counts: Tensor,
    expert_scales: Tensor,
    residual_x: Tensor,
    gamma: Tensor,
    group_ep: str,
    ep_world_size: int,
    ep_rank_id: int,
    moe_expert_num: int,
    *,
    norm_eps: float = 1e-6,
    **others: Any,
) -> tuple[Tensor, Tensor, Tensor]:
    name = "npu_moe_distribute_combine_add_rms_norm"
    given = {"group_ep": group_ep, "ep_world_size": ep_world_size, "ep_rank_id": ep_rank_id}
    args = {**given, "moe_expert_num": moe_expert_num, **others}
    total = _combine(name, expand_x, expert_ids, ep_send_counts, expert_scales, args)
    x = total.reshape(residual_x.shape).to(expand_x.dtype).float() + wide(residual_x)
    y, rstd = rms_norm(x, wide(gamma), norm_eps)
    return y.to(expand_x.dtype), rstd, x.to(expand_x.dtype)


@operator()
def _npu_distribute_barrier(
    x_ref: Tensor,
    group: str,
    world_size: int,
    *,
    time_out: Tensor | None = None,
    elastic_info: Tensor | None = None,
) -> Tensor:
    with joined(group, "_npu_distribute_barrier", world_size) as ranks:
        ranks.all_gather(torch.zeros(1, dtype=torch.int8))
    return x_ref
