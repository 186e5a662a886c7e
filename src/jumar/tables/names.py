"""Which tables there are."""

from __future__ import annotations

from importlib.resources import files


def table_names() -> list[str]:
    """The tables kept by hand, without `.toml`."""
    found = (entry.name for entry in files("jumar.data").iterdir())
    return sorted(name.removesuffix(".toml") for name in found if name.endswith(".toml"))
