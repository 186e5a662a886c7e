"""Whole programs that are copied beside a user's model and run there, in another Python; they import nothing of Jumar.

They stay within the syntax of Python 3.7.
"""

from __future__ import annotations

import re
from importlib.resources import files


def source(name: str) -> str:
    """The text of one program."""
    return files(__name__).joinpath(f"{name}.py").read_text(encoding="utf-8")


def network() -> str:
    """The generated MindSpore network as one file: its cells stand where network.py imports them."""
    whole, inner = source("network"), source("network_cells").partition('"""\n\n')[2]
    known = {line for line in whole.splitlines(keepends=True) if line.startswith(("import ", "from "))}
    cells = "".join(line for line in inner.splitlines(keepends=True) if line not in known)
    return re.sub(r"from network_cells import .*\n", lambda _: cells + "\n", whole)
