"""Modules that are copied into a user's project as they stand: within Python 3.7, and nothing of Jumar inside."""

from __future__ import annotations

from importlib.resources import files


def text(name: str) -> bytes:
    """The source of one of them."""
    return files(__name__).joinpath(f"{name}.py").read_bytes()
