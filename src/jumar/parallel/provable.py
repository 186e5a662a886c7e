"""Which plans a command can generate and prove, and why not the others: only what can be proved is recommended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from jumar.parallel.network import Network
from jumar.parallel.plan import Plan
from jumar.parallel.space import Group, PlanRequest


def reason(net: Network, plan: Plan) -> str:
    """Why no command proves this plan; empty if one does."""
    if plan.cp > 1:
        return "context parallel is modelled, but not generated"
    if plan.offload:
        return "activation offload is modelled, but not generated"
    return _torch(net, plan) if net.framework == "torch" else _mindspore(net, plan)


def _mindspore(net: Network, plan: Plan) -> str:
    if net.family == "traced":
        alone = plan.pp == 1 and plan.micro_batches == 1
        return "" if alone else "your own cell is compiled with data parallel, shard and recompute only"
    if net.family == "conv":
        return f"Jumar writes a whole MindSpore network for transformers and plain stacks, not for `{net.name}`"
    if net.latent and net.attention != "flash":
        return "latent attention is generated with the fused operator only"
    return ""


def _torch(net: Network, plan: Plan) -> str:
    if plan.pp > 1:
        return "pipelines of PyTorch are modelled, but not run"
    if net.experts:
        return "experts are modelled, but the small network has none"
    if net.family == "conv":
        return f"`{net.name}` is not written as a PyTorch module; give your own as `file.py:make_model`"
    return ""


def choose(net: Network, groups: Iterable[Group], request: PlanRequest) -> tuple[list[Group], Counter[str]]:
    """The groups that can be proved and, by reason, how many plans are left out; all groups if none can be."""
    every = list(groups)
    rows = [(group, reason(net, group.plan)) for group in every]
    left = Counter[str]()
    for group, why in rows:
        if why:
            left[why] += group.size
    proved = [group for group, why in rows if not why]
    return (every, Counter[str]()) if request.unproved or not proved else (proved, left)
