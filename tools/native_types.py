"""The types of the public API: what native/headers/*.toml says of them, and what they are in the stand-ins.

Rows of native/api have the types that a caller sees. The stand-ins are written without the vendor's headers: an enum is
an `int32_t` to them, and every handle and structure a plain pointer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

try:
    import tomllib
except ModuleNotFoundError:  # the source archive is built on Python 3.9 and 3.10 too
    import tomli as tomllib

FOLDER = Path(__file__).resolve().parent.parent / "native" / "headers"
_WORD = re.compile(r"\b[A-Za-z_]\w*\b(?P<pointer>\s*(?:const\s*)?\*)?")


def read_headers(folder: Path = FOLDER) -> dict[str, dict[str, Any]]:
    """The tables by their name; refuses a type that two of them have."""
    tables = {path.stem: tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.toml"))}
    seen: dict[str, str] = {}
    for name, table in tables.items():
        for type_ in _lowered(table):
            if type_ in seen:
                raise SystemExit(f"{name}.toml: `{type_}` is in {seen[type_]}.toml, too")
            seen[type_] = name
    return tables


def natives(tables: Mapping[str, dict[str, Any]]) -> dict[str, str]:
    """Every type with its counterpart in the stand-ins; `void` and `struct NAME` for what is behind pointers only."""
    return {name: native for table in tables.values() for name, native in _lowered(table).items()}


def lower(text: str, known: Mapping[str, str]) -> str:
    """A return type or a list of parameters as the stand-ins have it."""

    def one(match: re.Match[str]) -> str:
        word = match[0].removesuffix(match["pointer"] or "")
        native = known.get(word)
        if native is None:
            return match[0]
        if native == "void" and not match["pointer"]:
            native = f"struct {word}"
        return native + (match["pointer"] or "")

    return _WORD.sub(one, text).replace("* *", "**").replace("* ", "*")


def _lowered(table: dict[str, Any]) -> dict[str, str]:
    found = dict.fromkeys(table.get("handles", ()), "void *")
    found |= dict.fromkeys(table.get("callbacks", {}), "void *")
    found |= dict.fromkeys(table.get("enums", {}), "int32_t")
    found |= {name: "int32_t" if of == "int" else of for name, of in table.get("scalars", {}).items()}
    found |= dict.fromkeys(table.get("opaque", {}), "void")
    for name, row in table.get("structs", {}).items():
        found[name] = row.get("native", "void") if isinstance(row, dict) else "void"
    return found
