"""Roundings by precision, and which operators are products: what needs no torch to be known."""

from __future__ import annotations

from jumar.tables.operator_kinds import multiplies

UNIT = {"float64": 2.0**-53, "float32": 2.0**-24, "hf32": 2.0**-12, "float16": 2.0**-11, "bfloat16": 2.0**-8,
        "float8_e4m3fn": 2.0**-4, "float8_e5m2": 2.0**-3}  # fmt: skip
"""Largest relative error of one rounding. hf32 keeps 11 bits of the mantissa of float32."""
LARGEST = {"float64": 1.7976931348623157e308, "float32": 3.4028234663852886e38, "bfloat16": 3.3895313892515355e38,
           "float16": 65504.0}  # fmt: skip
"""What masks are filled with: its negative is the lowest value of a dtype."""


def short(name: str) -> str:
    """The operator's plain name: `addmm` of `aten.addmm.default`."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else name


def is_product(name: str) -> bool:
    return multiplies(short(name))
