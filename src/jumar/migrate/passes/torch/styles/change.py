"""What a string that names a device is there for, and how it is spelled anew."""

from __future__ import annotations

import ast
from enum import Enum, auto

from jumar.core.edit import Edit
from jumar.migrate.pyfile import PyFile


class Use(Enum):
    """What a string that names a device is there for."""

    MAKE = auto()
    """It says where to put something: `.to("cuda")`."""
    COMPARE = auto()
    """Something is compared with it: `device.type == "cuda"`."""
    CHOICE = auto()
    """It is one of several names that are allowed: `choices=["cuda", "cpu"]`."""
    KEY = auto()
    """It is a key of a table of devices, or a pattern of `match`."""


def respell(file: PyFile, node: ast.Constant | ast.JoinedStr, old: str, new: str) -> tuple[Edit, ...] | None:
    """The edits that put `new` for `old` in a string, also where the source spells it in pieces."""
    edits = file.in_string(node, old, new)
    if edits:
        return tuple(edits)
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or node in file.lost:
        return None
    start, end = file.source.span(node)
    text = file.source.data[start:end]
    if b"\n" in text or b"\r" in text:
        return None
    value = node.value.replace(old, new)
    if not value.isascii() or not value.isprintable() or '"' in value or "\\" in value:
        return None
    quote = '"' if b'"' in text else "'"
    return (Edit(start, end, f"{quote}{value}{quote}".encode()),)
