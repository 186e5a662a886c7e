"""`jumar.toml`: where it is, and what its tables say; the features check their own keys."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from jumar.core.compat import tomllib
from jumar.core.errors import UserError, cannot

FILE = "jumar.toml"


class Table(NamedTuple):
    """One table of the file; empty without a path where there is no file."""

    path: Path | None
    values: Mapping[str, Any]
    text: str = ""
    """The whole file, for the lines of keys."""

    def origin(self, key: str) -> str:
        """`path:line: ` of a key, the beginning of a message about it."""
        return f"{self.path}:{_line_of(self.text, key)}: " if self.path else ""


def find(start: Path) -> Path | None:
    """The nearest `jumar.toml` at or above a path."""
    folder = start.absolute() if start.is_dir() else start.absolute().parent
    return next((found for up in (folder, *folder.parents) if (found := up / FILE).is_file()), None)


def read(path: Path | None, name: str) -> Table:
    """A table of the file; None is an empty file."""
    if path is None:
        return Table(None, {})
    try:
        text = path.read_bytes().decode("utf-8")
        document = tomllib.loads(text)
    except OSError as error:
        raise cannot(f"read `{path}`", error) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"`{path}` is not valid TOML: {error}", "correct the file and try again") from error
    values = document.get(name, {})
    if not isinstance(values, dict):
        origin = Table(path, {}, text).origin(name)
        raise UserError(f"{origin}`{name}` must be a table", f"write `[{name}]` on a line of its own")
    return Table(path, values, text)


def _line_of(text: str, key: str) -> int:
    pattern = re.compile(rf"""^\s*(?:\[.*\b{re.escape(key)}\b.*\]|["']?{re.escape(key)}["']?\s*=)""", re.M)
    match = pattern.search(text)
    return text.count("\n", 0, match.end() - len(match[0].lstrip())) + 1 if match else 1
