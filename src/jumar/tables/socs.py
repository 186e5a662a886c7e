"""Chips by the SoC name that `aclrtGetSocName` returns and ATC's `--soc_version` takes."""

from __future__ import annotations

import difflib
from typing import Any

from jumar.core.errors import UserError
from jumar.tables import chips
from jumar.tables.load import table

EXAMPLE = "Ascend910B3"


def socs() -> dict[str, dict[str, Any]]:
    """What is known of each chip, from data/emulated_socs.json."""
    found: dict[str, dict[str, Any]] = table("emulated_socs.json")["socs"]
    return found


def known(name: str) -> str:
    """The SoC name as the vendor spells it: `910b3` means Ascend910B3."""
    by_lower = {soc.lower(): soc for soc in socs()}
    plain = f"ascend{name.strip().lower().removeprefix('ascend').strip()}"
    if plain in by_lower:
        return by_lower[plain]
    near = [by_lower[item] for item in difflib.get_close_matches(plain, by_lower, n=3, cutoff=0.5)]
    hint = f"did you mean {' or '.join(f'`{item}`' for item in near)}?" if near else f"for example `{EXAMPLE}`"
    raise UserError(f"unknown SoC name: `{name}`", hint=hint)


def family(soc: str) -> str:
    """Family of the chip as in chips.toml; empty if it stands in none."""
    return chips.chips().get(chips.find(soc) or "", "")
