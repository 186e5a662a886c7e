"""Whole programs that are copied beside a user's model and run there, in another Python; they import nothing of Jumar.

They stay within the syntax of Python 3.7.
"""

from __future__ import annotations

from importlib.resources import files


def source(name: str) -> str:
    """The text of one program."""
    return files(__name__).joinpath(f"{name}.py").read_text(encoding="utf-8")
