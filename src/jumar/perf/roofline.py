"""How long a kernel would take on a card at best: the larger of computing and moving data, from data/roofline.toml.

A model, not a measurement: no cache, no overlap of kernels, no dependence on layout or alignment. Constants that
`jumar selftest` measured on a card of this chip take the place of assumed ones.
"""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any, NamedTuple

from jumar.tables import measured
from jumar.tables.load import table
from jumar.tables.operator_kinds import is_kind

Shape = tuple[int, ...]


class Tensor(NamedTuple):
    shape: Shape
    type: str
    """As torch calls it, without `torch.`: float32, bfloat16, int64 …"""

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def bytes(self) -> int:
        return self.size * WIDTHS.get(self.type, 4)


class Cost(NamedTuple):
    type: str
    core: str
    time: float
    """Microseconds."""


WIDTHS = {"float64": 8, "int64": 8, "complex64": 8, "complex128": 16, "float16": 2, "bfloat16": 2, "int16": 2,
          "int8": 1, "uint8": 1, "bool": 1, "float8_e4m3fn": 1, "float8_e5m2": 1}  # fmt: skip
_SLOW = ("float64", "complex128", "complex64")
_USED = ("matmul_float16", "matmul_float32", "memory", "launch", "link", "collective", "host_to_card")
"""Figures of `jumar selftest` that this model uses."""


class Card:
    """One chip as a model."""

    def __init__(self, soc: str) -> None:
        row = table("emulated_socs.json")["socs"][soc]
        data = table("roofline.toml")
        self.soc = soc
        self.model: dict[str, float] = dict(data["model"])
        family = data["families"][row["family"]]
        self.memory = float(data["chips"].get(soc, family["memory"])) * self.model["efficiency"]
        self.link = float(family["link"])
        self.confidence: str = family["confidence"]
        clock = row["cube_mhz"]
        self.peak = float(row["cube_core"] * self.model["cube_flops"] * clock)
        """Operations per microsecond in float16 that the cores could do."""
        self.cube = self.peak * self.model["efficiency"]
        cores = row["vector_core"] or row["ai_core"]
        self.vector = cores * self.model["vector_bytes"] * clock * self.model["efficiency"]
        """Bytes per microsecond, as `cube` is operations per microsecond."""
        self.measured: dict[str, measured.Measured] = measured.constants(soc)
        self._prefer_measured()

    def _prefer_measured(self) -> None:
        """1 TFLOPS is a million operations, 1 GB/s a thousand bytes in a microsecond."""
        found = {name: row.value for name, row in self.measured.items()}
        self.cube = found.get("matmul_float16", self.cube / 1e6) * 1e6
        self.memory = found.get("memory", self.memory / 1e3) * 1e3
        self.link = found.get("link", self.link / 1e3) * 1e3
        if {"matmul_float16", "matmul_float32"} <= found.keys():
            self.model["float32"] = found["matmul_float32"] / found["matmul_float16"]
        for name, key, scale in (("launch", "host_us", 1.0), ("collective", "collective_us", 1.0),
                                 ("host_to_card", "copy_bytes_per_us", 1e3)):  # fmt: skip
            if name in found:
                self.model[key] = found[name] * scale

    @property
    def text(self) -> str:
        return (
            f"device times are modelled, not measured: a roofline of {self.soc} with {self.cube / 1e6:.0f} TFLOPS"
            f" (float16), {self.memory / 1e6:.2f} TB/s, {self.model['kernel_us']} us for the shortest kernel and"
            f" {self.model['host_us']:g} us of the host for each operator{self._sources()}"
        )

    def _sources(self) -> str:
        """Which constants were measured, and where."""
        used = [name for name in _USED if name in self.measured]
        if not used:
            return ""
        places = "; ".join(dict.fromkeys(self.measured[name].source for name in used))
        return f"; measured constants: {', '.join(used)} ({places}), the others are assumed"

    def cost(self, name: str, inputs: list[Tensor], outputs: list[Tensor]) -> Cost:
        """Of one operator; `name` without `aten::` and underscores around it."""
        types = {item.type for item in [*inputs, *outputs] if item.size > 1} or {item.type for item in inputs}
        moved = sum(item.bytes for item in inputs) + sum(item.bytes for item in outputs)
        kind = kernel_type(name)
        if types.intersection(_SLOW):
            time = self.model["aicpu_us"] + moved / self.model["aicpu_bytes_per_us"]
            return Cost(kind, "AI_CPU", time)
        work = operations(name, inputs, outputs)
        if work:
            rate = self.cube * self._rate(inputs)
            core = "MIX_AIC" if "attention" in name else "AI_CORE"
            return Cost(kind, core, max(self.model["kernel_us"], work / rate, moved / self.memory))
        # Integer arithmetic of 64 bits is done in several passes of the vector unit (judgement: 4).
        passes = 4 if "int64" in types and not types.intersection(("float32", "float16", "bfloat16")) else 1
        time = max(self.model["kernel_us"], moved / self.memory, passes * moved / self.vector)
        return Cost(kind, "AI_VECTOR_CORE", time)

    def collective(self, moved: int, ranks: int) -> float:
        """Of a ring: every byte goes out nearly twice, over one link at a time."""
        share = 2 * (ranks - 1) / ranks if ranks > 1 else 0.0
        return float(self.model["collective_us"] + share * moved / self.link)

    def _rate(self, inputs: list[Tensor]) -> float:
        kinds = {item.type for item in inputs if len(item.shape) > 1}
        if "float32" in kinds:
            return self.model["float32"]
        return self.model["int8"] if kinds & {"int8", "uint8"} else 1.0


@cache
def kernel_type(name: str) -> str:
    known: dict[str, str] = table("roofline.toml")["kernels"]
    plain = name.removeprefix("foreach_")
    if name.startswith("foreach_"):
        return "Foreach" + "".join(part.capitalize() for part in plain.split("_"))
    return known.get(name) or "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def operations(name: str, inputs: list[Tensor], outputs: list[Tensor]) -> float:
    """Multiply-adds times two of the operators that the cube unit runs; 0 for all others."""
    many = [item for item in inputs if len(item.shape) > 1]
    if is_kind(name, "products") and len(many) >= 2 and outputs:
        return 2.0 * outputs[0].size * many[-2].shape[-1]
    if name == "convolution" and len(many) >= 2 and outputs:
        return _convolution(outputs[0], many[1])
    if name == "convolution_backward" and len(many) >= 3:
        return 2 * _convolution(many[0], many[2])
    if "attention" in name and len(many) >= 2:
        query, key = many[:2]
        if "backward" in name or "grad" in name:
            return 10.0 * query.size * _length(key)
        return 4.0 * query.size * _length(key)
    return 0.0


def _convolution(output: Tensor, weight: Tensor) -> float:
    return 2.0 * output.size * prod(weight.shape[1:])


def _length(key: Tensor) -> int:
    """Positions of a key: the third of four dimensions (heads before positions), else the one before the last."""
    return key.shape[2] if len(key.shape) == 4 else key.shape[-2]


def card(soc: Any) -> Card:
    return Card(soc if soc in table("emulated_socs.json")["socs"] else "Ascend910B3")
