"""A chip: rows in the tables of families and of emulated chips, copied from the chip it is like."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

from kinds import Made

HELP = "a chip that can be emulated"
EXAMPLE = "910B5"
PATTERN = r"[0-9][\w-]*"
NEXT = (
    "mend what differs in the new row of emulated_socs.json, `make .venv/jumar`, `pytest tests/tables tests/emulate`, "
    "`python tools/generate.py`, a line in CHANGELOG.md"
)
FAMILIES = "src/jumar/data/chips.toml"
SOCS = "src/jumar/data/emulated_socs.json"


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--like", required=True, help="a chip that is there: 910B4; family and numbers are copied")


def make(given: argparse.Namespace, root: Path) -> Made:
    families, socs = root / FAMILIES, root / SOCS
    text = families.read_text(encoding="utf-8")
    if f'"{given.name}"' in text:
        raise ValueError(f"the chip `{given.name}` already exists")
    if f'"{given.like}"' not in text:
        raise ValueError(f"no chip `{given.like}`; {FAMILIES} lists them")
    return Made(changed={families: _listed(text, given.name, given.like), socs: _row(socs, given.name, given.like)})


def _listed(text: str, name: str, like: str) -> str:
    """Sorted into the list that has the other one; a list that is written over several lines stays so."""
    for found in re.finditer(r"chips = \[(.*?)\]", text, re.S):
        if f'"{like}"' not in found[1]:
            continue
        if "\n" in found[1]:
            new = found[0].replace(f'"{like}",', f'"{like}", "{name}",')
        else:
            new = f"chips = [{', '.join(sorted([*found[1].split(', '), json.dumps(name)]))}]"
        return text[: found.start()] + new + text[found.end() :]
    raise ValueError(f"no list of chips has `{like}`")


def _row(path: Path, name: str, like: str) -> str:
    """One line per chip, in order."""
    text = path.read_text(encoding="utf-8")
    rows = re.findall(r'^  "Ascend.*\}', text, re.M)
    copied = [row.replace(f'"Ascend{like}"', f'"Ascend{name}"') for row in rows if f'"Ascend{like}"' in row]
    if not copied:
        raise ValueError(f"no chip `Ascend{like}` in {SOCS}")
    return text.replace(",\n".join(rows), ",\n".join(sorted([*rows, *copied])))
