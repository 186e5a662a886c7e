"""Which project to install for a module that cannot be found."""

from __future__ import annotations

from functools import cache

from jumar.tables.load import table


@cache
def projects() -> dict[str, str]:
    """Project names by the name of the module, where they differ or are worth knowing."""
    rows: dict[str, str] = table("import_names.toml")["projects"]
    return rows


def project(module: str) -> str:
    """What `pip install` takes for a top-level module; empty when no row knows it."""
    return projects().get(module, "")
