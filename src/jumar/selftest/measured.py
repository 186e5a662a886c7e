"""From the archive of a real card to rows of a table, with their source; an emulated machine has none to give."""

from __future__ import annotations

import json
import re
from typing import Any

from jumar.core.errors import UserError
from jumar.selftest.result import SelfTest
from jumar.selftest.verdict import ON_CARD
from jumar.tables import socs
from jumar.tables.measured import REAL

_BUSY = 0.5
"""A figure whose tries spread by more was taken on a busy machine."""


def rows(test: SelfTest, source: str) -> dict[str, Any]:
    """The document of a file under `measured`."""
    if test.emulated:
        raise UserError("an emulated machine says nothing about a card", "run `jumar selftest` on a machine with NPUs")
    slow = {row.id.rpartition("/")[2] for row in test.differences if row.kind == "slow"}
    return {
        "source": source,
        "machine": {"kind": REAL, "soc": socs.known(str(test.machine["name"])),
                    "memory_mib": int(test.machine.get("memory_mib", 0)),
                    "cards": int(test.machine.get("test_cards", 1))},
        "constants": [{"name": one.name, "value": one.value, "unit": one.unit, "spread": one.spread}
                      for one in test.figures
                      if one.spread <= _BUSY and one.name not in slow and not one.name.startswith(ON_CARD)],
        "noise": [{"case": case.id, "relative": float(f"{case.noise:.3g}")} for case in test.cases
                  if case.noise is not None and case.state == "same"],
    }  # fmt: skip


def file_name(test: SelfTest, source: str) -> str:
    """One file for each archive."""
    digest = re.search(r"archive (\w+)", source)
    return f"{socs.known(str(test.machine['name']))}-{test.day}-{digest[1][:8] if digest else '0'}.toml"


def text(document: dict[str, Any]) -> str:
    """As TOML; JSON's strings and numbers are TOML's too."""
    lines = ["# Measured on a real card by `jumar selftest`; written by `jumar selftest read`.",
             f"source = {json.dumps(document['source'])}", "", "[machine]"]  # fmt: skip
    lines += [f"{key} = {json.dumps(value)}" for key, value in document["machine"].items()]
    for table in ("constants", "noise"):
        for row in document[table]:
            lines += ["", f"[[{table}]]", *(f"{key} = {json.dumps(value)}" for key, value in row.items())]
        if not document[table]:
            lines.insert(2, f"{table} = []")
    return "\n".join(lines) + "\n"
