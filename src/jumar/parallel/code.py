"""The plan as code: a whole MindSpore network with its settings, and the launch line."""

from __future__ import annotations

import json
import os
from typing import Any

from jumar.core.errors import UserError
from jumar.parallel import programs, provable
from jumar.parallel.network import Network
from jumar.parallel.plan import Job
from jumar.parallel.search import Found

SCRIPT = "train.py"


def words(net: Network, job: Job, found: Found) -> dict[str, Any]:
    """What the generated MindSpore network is told."""
    plan = found.plan
    if net.family == "traced":
        name, _, function = net.source.rpartition(":")
        return {
            "file": os.path.abspath(name), "function": function, "optimizer": job.optimizer, "seq": net.fed_seq,
            "global_batch": job.global_batch, "optimizer_shard": plan.shard, "recompute": plan.recompute == "full",
            "micro_batches": plan.micro_batches,
        }  # fmt: skip
    return {
        **{name: getattr(net, name) for name in (
            "family", "layers", "hidden", "inner", "heads", "kv_heads", "head_dim", "vocab", "seq", "norm", "position",
            "activation", "bias", "tied", "attention", "computed", "kept", "experts", "active_experts",
            "shared_inner", "dense_layers", "dense_inner")},
        "latent": net.latent._asdict() if net.latent else None,
        "picture": net.picture._asdict() if net.picture else None,
        "dp": plan.dp, "tp": plan.tp, "pp": plan.pp, "ep": plan.ep, "micro_batches": plan.micro_batches,
        "schedule": plan.schedule, "optimizer_shard": plan.shard, "optimizer": job.optimizer,
        "global_batch": job.global_batch, "stage_of": [0] * net.dense_layers + [stage for stage, _ in found.placed],
        "segment_of": [0] * net.dense_layers + [segment for _, segment in found.placed],
        "sequence": plan.sequence, "selective": plan.recompute == "selective",
        "recomputed": list(range(net.layers)) if plan.recompute == "full" else [],
    }  # fmt: skip


def network(net: Network, job: Job, found: Found) -> str:
    """A whole program that trains with this plan on zeros: put your data in."""
    reason = provable.reason(net.with_(framework="mindspore"), found.plan)
    if reason:
        raise UserError(reason, "`--code` still prints the settings for your own network")
    if net.family == "traced":
        return programs.source("own_cell")
    given = "".join(f"    {json.dumps(key)}: {value!r},\n" for key, value in words(net, job, found).items())
    return programs.network().replace("GIVEN = {}\n", f"GIVEN = {{\n{given}}}\n")


def launch(net: Network, found: Found, per_node: int) -> str:
    """The `jumar launch` line."""
    cards = found.plan.cards
    engine = " --on msrun" if net.framework == "mindspore" else ""
    if cards <= per_node:
        return f"jumar launch{engine} --cards {cards} {SCRIPT}"
    nodes = -(-cards // per_node)
    hosts = ",".join(f"host{n}" for n in range(1, min(nodes, 3) + 1)) + (",…" if nodes > 3 else "")
    return f"jumar launch{engine} --cards {per_node} --nodes {hosts} {SCRIPT}  # {nodes} machines"
