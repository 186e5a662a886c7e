"""Whole programs that are copied beside a user's model and run there, in another Python; they import nothing of Jumar.

They stay within the syntax of Python 3.7.
"""

from __future__ import annotations

import re
from importlib.resources import files

CELLS = ("network_cells", "network_vision")


def source(name: str) -> str:
    """The text of one program."""
    return files(__name__).joinpath(f"{name}.py").read_text(encoding="utf-8")


def network() -> str:
    """The generated MindSpore network as one file: its cells stand where network.py imports them."""
    whole = source("network")
    known = {line for line in whole.splitlines(keepends=True) if line.startswith(("import ", "from "))}
    for name in CELLS:
        lines = source(name).partition('"""\n\n')[2].splitlines(keepends=True)
        # network.py imports all that its cells take from these two places.
        there = ("from network_", "from mindspore import ")
        cells = "".join(line for line in lines if line not in known and not line.startswith(there))
        whole = re.sub(rf"from {name} import .*\n", lambda _, cells=cells: cells + "\n", whole)  # type: ignore[misc]
    return whole
