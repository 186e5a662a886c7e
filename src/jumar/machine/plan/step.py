"""One step of an installation as a plain value."""

from __future__ import annotations

from jumar.core.compat import dataclass


@dataclass(frozen=True, slots=True)
class InstallStep:
    """`do` and `done` are bash; `done` says without changing anything whether the work is there."""

    id: str
    title: str
    do: str
    done: str
    undo: str
    root: bool = False
    needs: tuple[str, ...] = ()
    note: str | None = None
    shown: str = ""
    """What a person types; `do` where nothing else is said."""
    look: str = ""
    """What a person types to see that it is done."""
    restart: bool = False
    """May a restart be what is missing when it fails?"""
