"""Flavours, engines and limits of `modelarts.toml`: the stand-in's catalogue, and sizes that version 1 leaves out."""

from __future__ import annotations

import functools
from typing import Any

from jumar.cloud.job import Engine, Flavor
from jumar.tables.load import table


def limits() -> dict[str, Any]:
    found: dict[str, Any] = table("modelarts.toml")["limits"]
    return found


@functools.cache
def flavors() -> dict[str, Flavor]:
    """By id."""
    most = int(limits()["standin_nodes"])
    rows = table("modelarts.toml")["flavors"]
    return {row["id"]: Flavor(row["id"], row["devices"], most, row["cpu"], row["memory_gb"]) for row in rows}


@functools.cache
def engines() -> dict[str, Engine]:
    """By version."""
    return {row["version"]: Engine(row["version"], row["v1_compatible"]) for row in table("modelarts.toml")["engines"]}


def is_v1(engine: str) -> bool:
    """Whether jobs of an engine copy their data themselves, with MoXing."""
    return engine in engines() and engines()[engine].v1
