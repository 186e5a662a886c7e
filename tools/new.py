"""Writes the skeleton of a unit: `tools/new.py rule cuda-thing` makes a rule and its page. Kinds: tools/kinds/."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import re
import sys
from pathlib import Path
from types import ModuleType

import kinds

ROOT = Path(__file__).parents[1]


def units() -> dict[str, ModuleType]:
    """The module of each kind, by the word for it on the command line."""
    names = sorted(info.name for info in pkgutil.iter_modules(kinds.__path__))
    return {name.replace("_", "-"): importlib.import_module(f"kinds.{name}") for name in names}


def main(argv: list[str] | None = None, root: Path = ROOT) -> int:
    known = units()
    parser = argparse.ArgumentParser(description=__doc__)
    choices = parser.add_subparsers(dest="kind", required=True, metavar="KIND")
    for kind, unit in known.items():
        own = choices.add_parser(kind, help=unit.HELP, description=unit.__doc__)
        own.add_argument("name", metavar="NAME", help=f"such as {unit.EXAMPLE}")
        unit.options(own)
    given = parser.parse_args(argv)
    unit = known[given.kind]
    if not re.fullmatch(unit.PATTERN, given.name):
        parser.error(f"`{given.name}` is not of the form `{unit.EXAMPLE}`")
    try:
        made = unit.make(given, root)
    except ValueError as problem:
        parser.error(str(problem))
    for path in made.new:
        if path.exists():
            parser.error(f"`{path.relative_to(root)}` exists")
    for path, text in (made.new | made.changed).items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(f"{'wrote' if path in made.new else 'changed'} {path.relative_to(root)}")
    print(f"next: {unit.NEXT}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
