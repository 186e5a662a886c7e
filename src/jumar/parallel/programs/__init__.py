"""Whole programs that are copied beside a user's model and run there, in another Python; they import nothing of Jumar.

They stay within the syntax of Python 3.7.
"""

from __future__ import annotations

from importlib.resources import files


def source(name: str) -> str:
    """The text of one program."""
    return files(__name__).joinpath(f"{name}.py").read_text(encoding="utf-8")


def network() -> str:
    """The generated MindSpore network as one file: its cells, then what is built of them."""
    cells, rest = source("network_cells"), source("network")
    doc, _, rest = rest.partition('"""\n\n')
    inner = cells.partition('"""\n\n')[2]
    lines = [line for line in rest.splitlines(keepends=True) if not line.startswith("from network_cells import")]
    imports = "".join(line for line in lines if line.startswith(("import ", "from ")))
    body = "".join(line for line in lines if not line.startswith(("import ", "from ")))
    have = set(imports.splitlines())
    more = [line for line in inner.splitlines() if line.startswith(("import ", "from ")) and line not in have]
    rows = "\n".join(line for line in inner.splitlines() if not line.startswith(("import ", "from ")))
    return f'{doc}"""\n\n{imports}' + "\n".join(more) + f"\n{rows.rstrip()}\n\n\n{body.lstrip()}"
