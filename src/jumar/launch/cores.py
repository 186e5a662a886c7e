"""Which cores each card's rank runs on: computed from /sys, NUMA node by NUMA node.

The usual scripts for an Atlas 800 with 8 cards and 192 Kunpeng cores bind 24 cores to each card; the result is
the same there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

from jumar.core.compat import zip
from jumar.core.errors import UserError

HUAWEI = "0x19e5"
ACCELERATOR = "0x1200"
"""PCI class of a processing accelerator."""
FORM = "`auto`, `none`, or cores such as `0-23:24-47`, one group per card"


class Topology(NamedTuple):
    """The cores of a machine."""

    nodes: tuple[tuple[tuple[int, ...], ...], ...]
    """NUMA nodes, each a row of physical cores, each the numbers of its threads."""
    cards: tuple[int, ...]
    """The NUMA node (its place in `nodes`) of each card, where /sys tells; else empty."""


def read(root: Path = Path("/sys"), allowed: Collection[int] | None = None) -> Topology:
    """The cores that this process may use."""
    may = set(os.sched_getaffinity(0)) if allowed is None else set(allowed)
    folders = sorted(root.glob("devices/system/node/node[0-9]*"), key=lambda path: int(path.name[4:]))
    nodes = {int(folder.name[4:]): parse(_text(folder / "cpulist")) for folder in folders}
    if not any(may & set(cpus) for cpus in nodes.values()):
        nodes = {0: tuple(sorted(may))}
    kept = {number: _physical(root, [cpu for cpu in cpus if cpu in may]) for number, cpus in nodes.items()}
    order = [number for number, rows in kept.items() if rows]
    places = [order.index(node) if node in order else -1 for node in _card_nodes(root)]
    return Topology(tuple(kept[number] for number in order), tuple(places) if -1 not in places else ())


def choose(wish: str, cards: Sequence[int], topology: Topology) -> tuple[tuple[int, ...], ...]:
    """The cores of each rank, in the order of its cards; empty where nothing is bound."""
    if wish == "none":
        return ()
    if wish == "auto":
        return _auto(cards, topology)
    return _given(wish, len(cards), topology)


def parse(text: str) -> tuple[int, ...]:
    """The numbers of a list such as `0-3,8`."""
    numbers: list[int] = []
    for part in filter(None, text.strip().split(",")):
        if not re.fullmatch(r"\d+(-\d+)?", part):
            raise ValueError(part)
        first, _, last = part.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return tuple(numbers)


def spell(cores: Sequence[int]) -> str:
    """The shortest list of these numbers: `0-3,8`."""
    runs: list[list[int]] = []
    for core in sorted(cores):
        if runs and core == runs[-1][1] + 1:
            runs[-1][1] = core
        else:
            runs.append([core, core])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def _auto(cards: Sequence[int], topology: Topology) -> tuple[tuple[int, ...], ...]:
    """Cards share the cores of their own node; where /sys does not say, all cores in the order of the cards."""
    known = topology.cards
    if known and max(cards) < len(known):
        found: dict[int, tuple[int, ...]] = {}
        for node in {known[card] for card in cards}:
            near = [card for card in cards if known[card] == node]
            found.update(zip(near, _split(topology.nodes[node], len(near)), strict=True))
        shares = [found[card] for card in cards]
    else:
        shares = _split([core for node in topology.nodes for core in node], len(cards))
    return tuple(shares) if all(shares) else ()


def _split(rows: Sequence[tuple[int, ...]], parts: int) -> list[tuple[int, ...]]:
    """Equal shares of physical cores; what cannot be shared equally stays free."""
    size = len(rows) // parts
    return [tuple(sorted(cpu for row in rows[at * size : (at + 1) * size] for cpu in row)) for at in range(parts)]


def _given(wish: str, ranks: int, topology: Topology) -> tuple[tuple[int, ...], ...]:
    try:
        groups = [parse(part) for part in wish.split(":")]
    except ValueError as error:
        raise UserError(f"`--bind`: `{error}` is not a core or a range of cores", f"write {FORM}") from error
    there = {cpu for node in topology.nodes for row in node for cpu in row}
    missing = sorted({cpu for group in groups for cpu in group} - there)
    if missing:
        raise UserError(f"`--bind`: no such core here: {spell(missing)}", f"there are {spell(sorted(there))}")
    if len(groups) == 1 and ranks > 1:
        groups = _split([(cpu,) for cpu in groups[0]], ranks)
    if len(groups) != ranks or not all(groups):
        raise UserError(f"`--bind`: {wish} does not give cores to {ranks} cards", f"write {FORM}")
    return tuple(groups)


def _physical(root: Path, cpus: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Threads of one core together."""
    rows: dict[int, list[int]] = {}
    for cpu in sorted(cpus):
        siblings = parse(_text(root / f"devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")) or (cpu,)
        rows.setdefault(siblings[0], []).append(cpu)
    return tuple(tuple(row) for row in rows.values())


def _card_nodes(root: Path) -> list[int]:
    """The NUMA node of each Huawei accelerator in the order of its PCI address; -1 where the kernel does not know."""
    found = []
    for device in sorted(root.glob("bus/pci/devices/*")):
        if _text(device / "vendor") == HUAWEI and _text(device / "class").startswith(ACCELERATOR):
            found.append(int(_text(device / "numa_node") or -1))
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return ""
