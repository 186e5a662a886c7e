"""The known name that a mistyped one most likely means."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The closest known name, or None when nothing is close."""
    import difflib

    by_lower = {candidate.lower(): candidate for candidate in known}
    found = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=cutoff)
    return by_lower[found[0]] if found else None


def did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    """A hint that names the closest known name, or `otherwise`."""
    close = nearest(name, known)
    return f"did you mean `{close}`?" if close else otherwise
