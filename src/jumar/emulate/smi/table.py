"""`npu-smi info`: the table, and the list of processes below it."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.emulate.smi.machine import Chip, Machine

UNKNOWN = "NA"
"""Power and temperature: npu-smi's own word for what a board does not report."""


def lines(machine: Machine) -> Iterator[str]:
    layout = machine.layout
    columns = layout["columns"]
    full = "+" + "-" * (sum(columns) + len(columns) - 1) + "+"
    # The 950 has one column more in its rows than in its title and its list of processes.
    outer = columns if len(columns) == 3 else [columns[0] + columns[1] + 1, *columns[2:]]
    yield full
    version = machine.driver["version"]
    title = f"| npu-smi {version}".ljust(layout["version_at"]) + f"Version: {version}"
    yield title.ljust(len(full) - 1) + "|"
    yield _rule(outer, "-")
    yield from layout["head"]
    yield _rule(columns, "=")
    for chip in machine.chips:
        last = chip.card + 1 == len(machine.chips) or machine.chips[chip.card + 1].npu != chip.npu
        yield from _chip(machine, chip)
        yield _rule(columns, "=") if last else full
    if machine.family["processes"]:
        yield _rule(outer, "-")
        yield layout["process_head"]
        yield _rule(outer, "=")
        for npu in machine.npus():
            yield from _processes(machine, npu, len(full))
            yield _rule(outer, "=")


def _chip(machine: Machine, chip: Chip) -> Iterator[str]:
    used = machine.used_mib(chip.card)
    ddr = machine.family["ddr_mib"]
    values = {
        "npu": chip.npu,
        "name": machine.name,
        "health": "OK",
        "power": UNKNOWN if chip.chip == 0 else "-",
        "temp": UNKNOWN,
        "pages": machine.layout["pages"].format(0, 0),
        "chip": chip.chip,
        "phy": chip.card,
        "bus": chip.bus,
        "core": machine.busy(chip.card),
        "ddr": f"{0:<5}/ {ddr}",
        "hbm": machine.layout["pages"].format(used, machine.memory_mib),
        "memory": f"{used:<5}/ {machine.memory_mib}",
        "nothing": "",
    }
    for row in machine.layout["row"]:
        yield row.format(**values)


def _processes(machine: Machine, npu: int, width: int) -> Iterator[str]:
    found = False
    for chip in machine.chips:
        for row in machine.rows:
            if chip.npu == npu and row.card == chip.card:
                found = True
                yield machine.layout["process"].format(
                    npu=npu, chip=chip.chip, pid=row.pid, name=row.name[:24], used=row.used >> 20
                )
    if not found:
        yield f"| No running processes found in NPU {npu}".ljust(width - 1) + "|"


def _rule(columns: list[int], mark: str) -> str:
    return "+" + "+".join(mark * width for width in columns) + "+"
