"""The TOML files of the package: parsed when the package is built, and again only where one has changed since.

Reading TOML takes ten times as long as reading JSON, and a run of `jumar migrate` reads two dozen such files. The build
puts each of them into `jumar/compiled` as JSON, named after a hash of its text (tools/compile_tables.py), so a table
that was edited after the build is never mixed up with its old content.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "compiled"


def name(raw: bytes) -> str:
    """The file name of a compiled table."""
    return hashlib.blake2b(raw, digest_size=16).hexdigest() + ".json"


def loads(raw: bytes, folder: Path = FOLDER) -> dict[str, Any]:
    """The content of a TOML text."""
    found: dict[str, Any]
    try:
        found = json.loads((folder / name(raw)).read_bytes())
    except (OSError, ValueError):
        from jumar.core.compat import tomllib

        found = tomllib.loads(raw.decode())
    return found
