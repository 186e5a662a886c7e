"""The modelled time of a step that a dry run recorded: rooflines for operators, rings for collectives."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from jumar.emulate.dry.result import Link, StepTime
from jumar.parallel import hardware
from jumar.perf.roofline import Card, Tensor, card, operations

WORST = 0.5
"""Share of the chip's peak that the slow end of the range assumes; the table's own share is in roofline.toml."""
_BUFFER_MIB = 200
"""HCCL_BUFFSIZE where nobody sets it: a group has two of them."""
_SILENT = ("barrier", "monitored_barrier")


def step_time(found: dict[str, Any], links: Sequence[Link]) -> StepTime | None:
    """None where the program ran no operator on the card."""
    rows = found["operators"]
    if not rows:
        return None
    chip = card(found["soc"])
    compute = host = work = 0.0
    for row in rows:
        inputs, outputs = ([Tensor(tuple(shape), kind) for kind, shape in row[key]] for key in ("inputs", "outputs"))
        name = row["name"].partition("::")[2].partition(".")[0].strip("_")
        compute += row["calls"] * chip.cost(name, inputs, outputs).time
        work += row["calls"] * operations(name, inputs, outputs)
        host += row["calls"] * chip.model["host_us"]
    exposed = sum(link.seconds for link in links if link.waits)
    hidden = sum(link.seconds for link in links if not link.waits)
    return _bounded(chip, compute / 1e6, host / 1e6, exposed, hidden, work)


def _bounded(chip: Card, compute: float, host: float, exposed: float, hidden: float, work: float) -> StepTime:
    share = chip.model["efficiency"]
    low = max(compute * share, exposed + hidden)
    high = max(compute * share / WORST, host) + exposed + hidden
    time = StepTime(compute, host, exposed, hidden, low, high, work, 0.0)
    peak = chip.cube / share * 1e6
    return time._replace(mfu=work / time.total / peak if time.total else 0.0)


def links(found: dict[str, Any]) -> list[Link]:
    """Collectives of the step, the longest first."""
    machine = hardware.find(found["soc"].removeprefix("Ascend"), {})
    rows = []
    for row in found["collectives"]:
        if row["name"] in _SILENT:
            continue
        members = row["group"] if isinstance(row["group"], list) else list(range(row["ranks"]))
        seconds = row["calls"] * _seconds(machine, row["name"], row["bytes"], members)
        rows.append(Link(row["name"], shown(members, found["world"]), row["ranks"], row["bytes"], row["calls"], seconds,
                         row["waits"], row["site"]))  # fmt: skip
    return sorted(rows, key=lambda row: -row.seconds)


def _seconds(machine: hardware.Hardware, name: str, size: int, members: list[int]) -> float:
    count = len(members)
    if count < 2:
        return 0.0
    link = machine.link(count, max(1, members[1] - members[0]))
    if members[0] // int(machine["cards_per_node"]) == members[-1] // int(machine["cards_per_node"]):
        link = machine.link(count, 1)
    if "allreduce" in name:
        return link.all_reduce(size)
    if name in ("send", "recv", "recv_any_source"):
        return size / link.port + link.latency
    if "alltoall" in name:
        return link.exchange(size)
    return link.one_pass(size * count if "gather" in name else size)


def shown(members: Sequence[int], world: int) -> str:
    """`all 512`, `0-7` or `3, 11, … 507 (64)`."""
    if len(members) == world and world > 1:
        return f"all {world}"
    if list(members) == list(range(members[0], members[0] + len(members))) and len(members) > 2:
        return f"{members[0]}-{members[-1]}"
    if len(members) > 4:
        return f"{members[0]}, {members[1]}, … {members[-1]} ({len(members)})"
    return ", ".join(map(str, members))


def buffers(found: dict[str, Any]) -> int:
    """Bytes that HCCL keeps for itself, outside of torch_npu's allocator."""
    groups = {str(row["group"]) for row in found["collectives"] if row["ranks"] > 1}
    text = os.environ.get("HCCL_BUFFSIZE", "")
    return len(groups) * 2 * (int(text) if text.isdecimal() else _BUFFER_MIB) << 20
