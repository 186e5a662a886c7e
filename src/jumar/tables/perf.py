"""The rows behind `jumar perf`: sequences with a fused operator, what makes the host wait, settings."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from jumar.tables.load import table


class Fusion(NamedTuple):
    name: str
    pattern: re.Pattern[str]
    replace: str
    note: str


class Optimizer(NamedTuple):
    name: str
    replace: str
    keep: float


class Sync(NamedTuple):
    operator: str
    what: str
    change: str


class Setting(NamedTuple):
    variable: str
    good: tuple[str, ...]
    default: str
    when: str
    set: str
    why: str
    source: str


class JitCompile(NamedTuple):
    families: tuple[str, ...]
    set: str
    why: str
    source: str


class Attention(NamedTuple):
    """What scaled_dot_product_attention must get to be one kernel."""

    operator: str
    families: tuple[str, ...]
    types: tuple[str, ...]
    axes: int
    heads: int
    head_size: int
    float32_multiple: int


class CollectiveAdvice(NamedTuple):
    names: tuple[str, ...]
    what: str
    change: tuple[str, ...]


@cache
def fusions() -> tuple[Fusion, ...]:
    rows = table("perf_fusions.toml")["fusions"]
    return tuple(Fusion(row["name"], _pattern(row["pattern"]), row["replace"], row["note"]) for row in rows)


@cache
def same() -> dict[str, str]:
    """Operators that patterns know under another name."""
    names: dict[str, str] = table("perf_fusions.toml")["same"]
    return names


@cache
def optimizers() -> dict[str, Optimizer]:
    return {row["name"]: Optimizer(**row) for row in table("perf_fusions.toml")["optimizers"]}


@cache
def syncs() -> dict[str, Sync]:
    return {row["operator"]: Sync(**row) for row in table("perf_rules.toml")["syncs"]}


@cache
def settings() -> tuple[Setting, ...]:
    rows = table("perf_rules.toml")["settings"]
    return tuple(Setting(**{**row, "good": tuple(row["good"])}) for row in rows)


@cache
def jit_compile() -> JitCompile:
    row = table("perf_rules.toml")["jit_compile"]
    return JitCompile(**{**row, "families": tuple(row["families"])})


@cache
def cpu_operators() -> dict[str, str]:
    """Operators that only the CPU has, with what the card runs instead."""
    names: dict[str, str] = table("perf_rules.toml")["cpu_operators"]
    return names


@cache
def attention() -> Attention:
    row = table("perf_rules.toml")["attention"]
    return Attention(**{**row, "families": tuple(row["families"]), "types": tuple(row["types"])})


@cache
def foreach_families() -> frozenset[str]:
    """Where an optimizer updates all parameters with one operator by default."""
    return frozenset(table("perf_rules.toml")["foreach"]["families"])


@cache
def collectives() -> tuple[CollectiveAdvice, ...]:
    rows = table("perf_rules.toml")["collectives"]
    return tuple(CollectiveAdvice(tuple(row["names"]), row["what"], tuple(row["change"])) for row in rows)


def _pattern(text: str) -> re.Pattern[str]:
    """Only from the begin of a word."""
    return re.compile(rf"(?<![^ ]){text}")
