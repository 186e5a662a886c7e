"""Programs and files that the commands of a self-test work on."""

from __future__ import annotations

from pathlib import Path


def path(name: str) -> Path:
    """Where one of them lies."""
    return Path(__file__).parent / name
