"""Numbers with their nouns: `1 file`, `2 files`."""

from __future__ import annotations


def counted(number: int, noun: str, many: str = "") -> str:
    """The number with the noun in its right form; `many` where it takes more than an `s`."""
    return f"{number:,} {noun if number == 1 else many or noun + 's'}"
