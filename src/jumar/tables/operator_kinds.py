"""Which operators only move data, and which multiply: one answer for `compare`, `perf` and `parallel`."""

from __future__ import annotations

from functools import cache

from jumar.tables.load import table

VIEWS = ("reshapes", "transposes", "parts")
"""Kinds whose results share the memory of their input."""
IDLE = (*VIEWS, "copies", "allocations", "fills", "queries")
"""Kinds that compute nothing."""


@cache
def operators(*kinds: str) -> frozenset[str]:
    """The plain names of all operators of these kinds."""
    return frozenset(name for kind in kinds for name in table("operator_kinds.toml")[kind])


def is_kind(name: str, *kinds: str) -> bool:
    """Whether an operator is of one of these kinds; underscores around its plain name do not matter."""
    return name.strip("_") in operators(*kinds)


@cache
def multiplies(name: str) -> bool:
    """Whether a matrix unit computes it: products, convolutions, attention."""
    plain = name.strip("_")
    return plain in operators("products") or plain.startswith(tuple(operators("convolutions", "attention")))
