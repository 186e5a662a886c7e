"""The constants of a chip and its links, each with source and confidence; any can be replaced by the user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from jumar.core.errors import UserError
from jumar.core.nearest import did_you_mean
from jumar.tables import chips, measured
from jumar.tables.load import table

CUBE = 16 * 16 * 16 * 2
"""Operations of a cube core in one cycle, half precision."""
NO_FUSED = ("910", "310P")
"""Families that the vendor's page of FlashAttentionScore does not name for training."""
MIB, GIGA, MICRO = 1 << 20, 1e9, 1e-6
MEASURED = "measured"
"""The confidence of a constant from an archive of `jumar selftest`."""


class Constant(NamedTuple):
    value: float
    unit: str
    confidence: str
    source: str


@dataclass(frozen=True)
class Hardware:
    """One chip and the machine around it."""

    chip: str
    family: str
    constants: dict[str, Constant]

    def __getitem__(self, name: str) -> float:
        return self.constants[name].value

    @property
    def usable(self) -> int:
        """Bytes that a framework can give to tensors, without what is to be kept free."""
        return int((self["memory"] - self["framework_reserve"] - self["keep_free"]) * MIB)

    @property
    def attention(self) -> str:
        """What a transformer uses unless it is told: the fused operator, where the chip has it."""
        return "plain" if self.family in NO_FUSED else "flash"

    def flops(self, width: int) -> float:
        """Operations in a second that products of this many bytes per element reach."""
        peak = self["matrix_peak"] * 1e12 * self["matrix_share"]
        return peak if width == 2 else peak / 4

    def bandwidth(self) -> float:
        return self["hbm"] * GIGA * self["vector_share"]

    def host(self) -> float:
        """Bytes in a second between a card and the host's memory, one way."""
        return self["host"] * GIGA * self["link_share"]

    def link(self, cards: int, stride: int) -> Link:
        """How a group of cards that are `stride` ranks apart is connected."""
        members = max(1, min(cards, int(self["hccs_group"]) // stride))
        nodes = -(-cards // members)
        fast, slow = (self[name] * GIGA * self["link_share"] for name in ("hccs", "roce"))
        latency = ((members - 1) * self["hccs_latency"] + (nodes - 1) * self["roce_latency"]) * MICRO
        return Link(cards, members, fast, slow, latency)


class Link(NamedTuple):
    """A group of cards: those of one node are joined by HCCS, the nodes by a port of RoCE for each card."""

    cards: int
    members: int
    """Cards of the group in one node."""
    fast: float
    slow: float
    """Bytes in a second of a card inside a node, and between nodes."""
    latency: float
    """Seconds of all steps of a ring."""

    @property
    def speed(self) -> float:
        """Of a ring: the members in a node have a port each, and every port carries its share."""
        return self.fast if self.members == self.cards else min(self.fast, self.slow * self.members)

    @property
    def port(self) -> float:
        """Of one card to another one in the group, in another node if there is one."""
        return self.fast if self.members == self.cards else self.slow

    def one_pass(self, size: float) -> float:
        """All-gather or reduce-scatter of `size` bytes in all."""
        return 0.0 if self.cards < 2 else (self.cards - 1) / self.cards * size / self.speed + self.latency

    def all_reduce(self, size: float) -> float:
        """Two passes of a ring."""
        return 2 * self.one_pass(size)

    def exchange(self, size: float) -> float:
        """All-to-all of `size` bytes of each card: what leaves the node passes the card's own port."""
        if self.cards < 2:
            return 0.0
        outside, inside = self.cards - self.members, self.members - 1
        return max(outside / self.slow, inside / self.fast) * size / self.cards + self.latency


def find(name: str, changes: dict[str, float]) -> Hardware:
    """The constants of a chip, with those that the user gives."""
    chip = chips.find(name)
    if chip is None:
        raise UserError(
            f"unknown chip: `{name}`", did_you_mean(name, chips.chips(), "`jumar plan --list chips` names them")
        )
    family = chips.chips()[chip]
    data = table("parallel_hardware.toml")
    row = table("emulated_socs.json")["socs"].get(f"Ascend{chip}")
    if row is None or family not in data["families"]:
        raise UserError(
            f"no constants for training on `{chip}`", "910A, 910B1 to 910B4, 910_93xx, 310P and 950 chips have some"
        )
    constants = {key: Constant(**value) for key, value in {**data["common"], **data["families"][family]}.items()}
    peak = round(row["cube_core"] * CUBE * row["cube_mhz"] * 1e6 / 1e12, 1)
    constants["matrix_peak"] = Constant(
        peak, "TFLOPS, half precision", "derived", "cube cores x 8192 x clock, CANN platform files"
    )
    constants["memory"] = Constant(row["memory_mib"], "MiB", "official", "CANN platform files")
    _prefer_measured(constants, f"Ascend{chip}")
    for key, value in changes.items():
        if key not in constants:
            raise UserError(
                f"unknown constant: `{key}`", did_you_mean(key, constants, f"known: {', '.join(sorted(constants))}")
            )
        if value < 0 or (value == 0 and constants[key].value):
            raise UserError(f"`{key}` must be greater than 0, not {value:g}")
        constants[key] = Constant(value, constants[key].unit, "yours", "--set")
    return Hardware(chip, family, constants)


def _prefer_measured(constants: dict[str, Constant], soc: str) -> None:
    """What `jumar selftest` measured on such a card, in the place of the share that was assumed."""
    found = measured.constants(soc)
    for name, share, whole in (("matmul_float16", "matrix_share", "matrix_peak"), ("memory", "vector_share", "hbm"),
                               ("link", "link_share", "hccs")):  # fmt: skip
        if name in found:
            reached = found[name].value / constants[whole].value
            constants[share] = Constant(
                float(f"{reached:.4g}"), constants[share].unit, MEASURED, f"{name}: {found[name].source}"
            )
