"""Reads a table from `jumar/data`; each file is parsed once per process."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from jumar.core import tables


@cache
def table(name: str) -> dict[str, Any]:
    """The parsed content of `data/<name>`, a `.toml` kept by hand or a `.json` written by a tool."""
    raw = files("jumar.data").joinpath(name).read_bytes()
    loaded: dict[str, Any] = json.loads(raw) if name.endswith(".json") else tables.loads(raw)
    return loaded


def table_names() -> list[str]:
    """The tables kept by hand, without `.toml`."""
    found = (entry.name for entry in files("jumar.data").iterdir())
    return sorted(name.removesuffix(".toml") for name in found if name.endswith(".toml"))


@cache
def text(name: str) -> bytes:
    """The bytes of `data/<name>`, a text that is handed out as it is."""
    return files("jumar.data").joinpath(name).read_bytes()
