"""What is documented about the chips' arithmetic: the rules of `numerics.toml`, with their sources."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from jumar.core.compat import dataclass
from jumar.tables.load import table

KINDS = ("convolution", "matmul", "bias", "flag", "flush", "move")
"""Lists of operators that hold on every chip that has the rule; those of `order` name their chips."""

FORMATS = ("float32", "hf32", "float16")
"""Of the operands of float32 products, in the order of `Format` in emulate/numerics/model.h."""
Ask = Callable[[str], str]
"""The value of one of torch_npu's options, empty where it is not set."""


class Formats(NamedTuple):
    """What float32 products are computed with."""

    convolution: str = "float32"
    matmul: str = "float32"


@dataclass(frozen=True, slots=True)
class Source:
    """Where a rule is written down."""

    address: str
    title: str
    date: str
    quote: str


@dataclass(frozen=True, slots=True)
class Rule:
    """One way in which chips compute otherwise than the CPU."""

    name: str
    says: str
    short: str
    chips: tuple[str, ...]
    sources: tuple[Source, ...]
    switch: str = ""


@cache
def rules() -> tuple[Rule, ...]:
    return tuple(_rule(row) for row in table("numerics.toml")["rules"])


def of_chip(family: str) -> tuple[Rule, ...]:
    """The rules of a family of chips."""
    return tuple(rule for rule in rules() if family in rule.chips)


def unknown() -> tuple[tuple[str, str], ...]:
    """What was looked for and not found: the question, and what there is."""
    return tuple((row["says"], row["found"]) for row in table("numerics.toml")["unknown"])


def operators(family: str) -> list[tuple[str, str, tuple[str, ...]]]:
    """Kind, operator and its arguments, for the rules that a family of chips has."""
    content = table("numerics.toml")["operators"]
    names = {rule.name for rule in of_chip(family)}
    wanted = [kind for kind in KINDS if kind != "flush" or "subnormals" in names]
    rows = [(kind, name, tuple(arguments)) for kind in wanted for name, arguments in content[kind].items()]
    for kind, lists in content["order"].items():
        if family in lists["chips"]:
            rows += [(f"order:{kind}", name, tuple(found)) for name, found in lists.items() if name != "chips"]
    return rows


@cache
def operands() -> dict[str, tuple[str, tuple[str, ...]]]:
    """By operator that multiplies: `convolution` or `matmul`, and the arguments that are multiplied."""
    content = table("numerics.toml")["operators"]
    return {name: (kind, tuple(found)) for kind in Formats._fields for name, found in content[kind].items()}


def formats(family: str, ask: Ask) -> Formats:
    """What torch_npu's options make of float32 products, as its GetCubeMathType and the chip's rules have it."""
    default = "allow_fp32_to_fp16" if _has(family, "float16-products") else "must_keep_origin_dtype"
    narrow = (ask("ACL_PRECISION_MODE") or default) == "allow_fp32_to_fp16"
    convolution = _cube(ask("ALLOW_CONV_HF32") != "disable", narrow)
    matmul = _cube(ask("ALLOW_MATMUL_HF32") == "enable", narrow)
    asked = ask("CUBE_MATH_TYPE")
    return Formats(_format(family, convolution), _format(family, int(asked) if asked else matmul))


def _cube(hf32: bool, narrow: bool) -> int:
    """`cubeMathType`: 0 keep, 1 allow less, 2 float16, 3 HF32."""
    return {(False, False): 0, (True, True): 1, (False, True): 2, (True, False): 3}[hf32, narrow]


def _format(family: str, cube: int) -> str:
    if cube == 2 or (cube == 1 and _has(family, "float16-products")):
        return "float16"
    return "hf32" if cube in (1, 3) and _has(family, "hf32-convolution") else "float32"


def _has(family: str, name: str) -> bool:
    return any(rule.name == name for rule in of_chip(family))


def _rule(row: dict[str, Any]) -> Rule:
    sources = tuple(Source(**source) for source in row["sources"])
    return Rule(**{**row, "chips": tuple(row["chips"]), "sources": sources})
