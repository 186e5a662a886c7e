"""The emulated machine as npu-smi sees it: NPUs, chips, memory, processes."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from jumar import data
from jumar.emulate import ledger
from jumar.runtime import variables


class Chip(NamedTuple):
    """One chip: what torch calls a device."""

    npu: int
    chip: int
    card: int
    bus: str


class Machine(NamedTuple):
    soc: str
    facts: dict[str, Any]
    """The row of the SoC in data/emulated_socs.json."""
    family: dict[str, Any]
    layout: dict[str, Any]
    driver: dict[str, str]
    memory_mib: int
    chips: tuple[Chip, ...]
    rows: tuple[ledger.Row, ...]

    @property
    def name(self) -> str:
        """As in the table, where an A3 is only called 910."""
        if self.facts["family"] == "A3":
            return "Ascend910"
        return self.soc if self.layout["columns"][0] == 8 else self.soc.removeprefix("Ascend")

    def used_mib(self, card: int) -> int:
        return sum(row.used for row in self.rows if row.card == card) >> 20

    def busy(self, card: int) -> int:
        """The emulator computes on the host, so this is the share of its processors that the card's processes use."""
        return round(min(100.0, sum(ledger.busy(row.pid) for row in self.rows if row.card == card)))

    def rate(self, card: int) -> int:
        return round(100 * self.used_mib(card) / self.memory_mib)

    def npus(self) -> list[int]:
        return sorted({chip.npu for chip in self.chips})


def read(environ: Mapping[str, str]) -> Machine:
    """From the variables that the stand-ins read too (native/machine/profile.cpp)."""
    soc = variables.SOC.read(environ)
    facts = _table("emulated_socs.json")["socs"].get(soc)
    if facts is None:
        raise SystemExit(f"npu-smi: JUMAR_SOC={soc} is not a known chip")
    smi = _table("npu_smi.json")
    family = smi["families"][facts["family"]]
    cards = variables.CARDS.read(environ)
    memory = variables.MEMORY.read(environ) or int(facts["memory_mib"])
    chips = tuple(_chip(card, family) for card in range(cards))
    rows = ledger.read(ledger.file_name(soc, cards, memory, environ))
    return Machine(soc, facts, family, smi["layouts"][family["layout"]], smi["driver"], memory, chips, tuple(rows))


def _table(name: str) -> dict[str, Any]:
    # As tables.load does, without its imports: they cost more than all the rest of npu-smi.
    with open(os.path.join(os.path.dirname(data.__file__ or ""), name), encoding="utf-8") as file:
        found: dict[str, Any] = json.load(file)
    return found


def _chip(card: int, family: dict[str, Any]) -> Chip:
    bus = f"0000:{2 * card + 1:02X}:00.0" if family["bus"] else "NA"
    return Chip(card // family["chips"], card % family["chips"], card, bus)
