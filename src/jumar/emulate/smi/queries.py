"""`npu-smi info -l`, `-m` and `-t TYPE -i NPU [-c CHIP]`: names and values, one per line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Optional

from jumar.emulate.smi.machine import Chip, Machine
from jumar.emulate.smi.table import UNKNOWN

Pair = Optional[tuple[str, object]]
"""A name and its value; None is an empty line."""


def listed(machine: Machine) -> Iterator[str]:
    """`-l`: the NPUs."""
    yield from _shown([("Total Count", len(machine.npus()))])
    for npu in machine.npus():
        count = sum(chip.npu == npu for chip in machine.chips)
        yield ""
        if machine.family["layout"] == "950":
            yield from _shown([("NPU ID", npu), ("Product Name", UNKNOWN), ("Serial Number", UNKNOWN)])
        else:
            yield from _shown([("NPU ID", npu), ("Chip Count", count)])


def mapped(machine: Machine) -> Iterator[str]:
    """`-m`: which NPU and chip is which device of the programs."""
    name = f"Ascend {machine.name.removeprefix('Ascend')}" if machine.facts["family"] != "A3" else machine.name
    if machine.family["layout"] == "950":
        yield f"{'NPU ID':<16}{'Slot ID':<17}{'Chip ID':<17}{'Chip Phy-ID':<21}Chip Name"
        for chip in machine.chips:
            yield f"{chip.npu:<16}{chip.npu:<17}{chip.chip:<17}{chip.card:<21}{machine.name}"
        return
    heads = ["NPU ID", "Chip ID", "Chip Logic ID", *(["Chip Phy-ID"] if machine.facts["family"] == "A3" else [])]
    yield "\t" + "".join(f"{head:<31}" for head in heads) + "Chip Name"
    for chip in machine.chips:
        values = [chip.npu, chip.chip, *[chip.card] * (len(heads) - 2)]
        yield "\t" + "".join(f"{value:<31}" for value in values) + name


def asked(machine: Machine, kind: str, npu: int, only_chip: int | None) -> Iterator[str]:
    """`-t kind`: about one NPU, or about one of its chips."""
    chips = [chip for chip in machine.chips if chip.npu == npu and only_chip in (None, chip.chip)]
    if kind == "board":
        yield from _shown(_board_chip(machine, chips[0]) if only_chip is not None else _board(machine, chips))
        return
    if kind == "proc-mem":
        yield from _process_memory(machine, npu, chips)
        return
    yield from _shown([("NPU ID", npu), ("Chip Count", len(chips)), None])
    for chip in chips:
        yield from _shown([*KINDS[kind](machine, chip), ("Chip ID", chip.chip)])


def _usages(machine: Machine, chip: Chip) -> list[Pair]:
    rate, busy = machine.rate(chip.card), machine.busy(chip.card)
    return [
        *_memories(machine, chip, rate),
        ("Aicore Usage Rate(%)", busy),
        ("Aicpu Usage Rate(%)", 0),
        ("Ctrlcpu Usage Rate(%)", 0),
        *((f"{kind} Bandwidth Usage Rate(%)", 0) for kind in ("DDR", *(["HBM"] if _has_hbm(machine) else []))),
    ]


def _memories(machine: Machine, chip: Chip, rate: int) -> list[Pair]:
    hbm = _has_hbm(machine)
    ddr = machine.family["ddr_mib"] if hbm else machine.memory_mib
    first: list[Pair] = [
        ("DDR Capacity(MB)", ddr),
        ("DDR Usage Rate(%)", 0 if hbm else rate),
        ("DDR Hugepages Total(page)", 0),
        ("DDR Hugepages Usage Rate(%)", 0),
    ]
    return [*first, ("HBM Capacity(MB)", machine.memory_mib), ("HBM Usage Rate(%)", rate)] if hbm else first


def _memory(machine: Machine, chip: Chip) -> list[Pair]:
    if not _has_hbm(machine):
        return [("DDR Capacity(MB)", machine.memory_mib), ("DDR Clock Speed(MHz)", UNKNOWN)]
    return [
        ("DDR Capacity(MB)", machine.family["ddr_mib"]),
        ("DDR Clock Speed(MHz)", UNKNOWN),
        ("HBM Capacity(MB)", machine.memory_mib),
        ("HBM Clock Speed(MHz)", UNKNOWN),
        ("HBM Temperature(C)", UNKNOWN),
        ("HBM Manufacturer ID", UNKNOWN),
    ]


def _common(machine: Machine, chip: Chip) -> list[Pair]:
    rate = machine.rate(chip.card)
    hbm = _has_hbm(machine)
    return [
        ("Memory Usage Rate(%)", 0 if hbm else rate),
        *([("HBM Usage Rate(%)", rate)] if hbm else []),
        ("Aicore Usage Rate(%)", machine.busy(chip.card)),
        ("Aicore Freq(MHZ)", machine.facts["cube_mhz"]),
        ("Aicore curFreq(MHZ)", machine.facts["cube_mhz"]),
        ("Aicore Count", machine.facts["ai_core"]),
        ("Temperature(C)", UNKNOWN),
        ("NPU Real-time Power(W)", UNKNOWN),
    ]


def _health(machine: Machine, chip: Chip) -> list[Pair]:
    return [("Health Status", "OK"), ("Error Code", UNKNOWN), ("Error Information", UNKNOWN)]


def _temperature(machine: Machine, chip: Chip) -> list[Pair]:
    return [("NPU Temperature (C)", UNKNOWN)]


def _power(machine: Machine, chip: Chip) -> list[Pair]:
    return [("NPU Real-time Power(W)", UNKNOWN)]


def _ecc(machine: Machine, chip: Chip) -> list[Pair]:
    errors = ("Single Bit Error Count", "Double Bit Error Count", "Single Bit Aggregate Total Err Cnt",
              "Double Bit Aggregate Total Err Cnt", "Single Bit Isolated Pages Count",
              "Double Bit Isolated Pages Count")  # fmt: skip
    kinds = ("DDR", "HBM") if _has_hbm(machine) else ("DDR",)
    return [(f"{kind} {error}", 0) for kind in kinds for error in errors]


KINDS: dict[str, Callable[[Machine, Chip], list[Pair]]] = {
    "common": _common,
    "ecc": _ecc,
    "health": _health,
    "memory": _memory,
    "power": _power,
    "temp": _temperature,
    "usages": _usages,
}
ALL_KINDS = sorted([*KINDS, "board", "proc-mem"])


def _board(machine: Machine, chips: list[Chip]) -> list[Pair]:
    return [
        ("NPU ID", chips[0].npu),
        ("Software Version", machine.driver["version"]),
        ("Firmware Version", machine.driver["firmware"]),
        ("Compatibility", "OK"),
        ("Board ID", UNKNOWN),
        ("PCB ID", UNKNOWN),
        ("BOM ID", UNKNOWN),
        ("PCIe Bus Info", chips[0].bus),
        ("Slot ID", chips[0].npu),
        ("Class ID", UNKNOWN),
        ("PCI Vendor ID", "0x19E5"),
        ("PCI Device ID", UNKNOWN),
        ("Subsystem Vendor ID", UNKNOWN),
        ("Subsystem Device ID", UNKNOWN),
        ("Chip Count", len(chips)),
    ]


def _board_chip(machine: Machine, chip: Chip) -> list[Pair]:
    return [
        ("NPU ID", chip.npu),
        ("Chip ID", chip.chip),
        ("Chip Type", "Ascend"),
        ("Chip Name", machine.name),
        ("Chip Version", "V1"),
        ("Board ID", UNKNOWN),
        ("PCB ID", UNKNOWN),
        ("BOM ID", UNKNOWN),
        ("VDie ID", UNKNOWN),
        ("NDie ID", UNKNOWN),
        ("Chip Position ID", chip.chip),
        ("PCIe Bus Info", chip.bus),
        ("Firmware Version", machine.driver["firmware"]),
    ]


def _process_memory(machine: Machine, npu: int, chips: list[Chip]) -> Iterator[str]:
    yield from _shown([("NPU ID", npu)])
    for chip in chips:
        for row in machine.rows:
            if row.card == chip.card:
                yield f"\tProcess id:{row.pid}  Process name:{row.name:<18} Process memory(MB):{row.used >> 20}"


def _has_hbm(machine: Machine) -> bool:
    return bool(machine.family["layout"] != "310")


def _shown(pairs: list[Pair]) -> Iterator[str]:
    for pair in pairs:
        yield "" if pair is None else f"\t{pair[0]:<31}: {pair[1]}"
