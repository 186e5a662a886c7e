"""What to change first so that a program needs less of the card's memory, with what each change gains."""

from __future__ import annotations

from typing import Any

from jumar.emulate.dry.result import Hint

_WORTH = 0.03
"""Share of the peak below which a change is not worth a line."""


def hints(found: dict[str, Any]) -> list[Hint]:
    """The largest gain first; gains are upper bounds, and those of two changes do not add up."""
    memory = found["memory"]
    if not memory:
        return []
    rows = [*_recompute(memory), *_shard(found, memory), *_loss(memory), *_fragments(memory)]
    return sorted((row for row in rows if row.gain > _WORTH * memory["peak"]), key=lambda row: -row.gain)


def _recompute(memory: dict[str, Any]) -> list[Hint]:
    """Layers that repeat: with recomputation, one of them has activations at a time."""
    sizes: dict[str, int] = {}
    for row in memory["holders"]:
        if row["owner"] == "activations" and "*" in row["module"]:
            block = row["module"][: row["module"].index("*") + 1]
            sizes[block] = sizes.get(block, 0) + row["bytes"]
    found = []
    for block, size in sizes.items():
        count = max((row["tensors"] for row in memory["holders"] if row["module"].startswith(block)), default=1)
        found.append(
            Hint(f"recompute the blocks `{block}` (torch.utils.checkpoint)", int(size * (1 - 1 / max(count, 2))))
        )
    return found


def _shard(found: dict[str, Any], memory: dict[str, Any]) -> list[Hint]:
    owners, world = memory["owners"], found["world"]
    whole = [row for row in found["collectives"] if "allreduce" in row["name"] and row["bytes"] > 1 << 20]
    if world < 2 or not whole:
        return []
    ranks = max(row["ranks"] for row in whole)
    state = owners.get("optimizer state", 0)
    rest = state + owners.get("parameters", 0) + owners.get("gradients", 0)
    return [
        Hint(f"shard the optimizer state over {ranks} ranks (ZeRO-1)", int(state * (1 - 1 / ranks))),
        Hint(f"shard parameters, gradients and optimizer state over {ranks} ranks (FSDP2 `fully_shard`)",
             int(rest * (1 - 1 / ranks))),
    ]  # fmt: skip


def _loss(memory: dict[str, Any]) -> list[Hint]:
    size = sum(row["bytes"] for row in memory["holders"] if "log_softmax" in row["op"] or "nll_loss" in row["op"])
    return [Hint("compute the loss in chunks of the sequence: the logits' softmax is held whole", size)]


def _fragments(memory: dict[str, Any]) -> list[Hint]:
    lost = memory["reserved"] - memory["peak"]
    return [Hint("`PYTORCH_NPU_ALLOC_CONF=expandable_segments:True`: reserved, and not used at the peak", lost)]
