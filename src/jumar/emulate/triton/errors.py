"""What a card or its compiler refuses, said in the program as an exception."""

from __future__ import annotations

from jumar.core.compat import add_note


class Refused(RuntimeError):
    """A kernel that no card runs; the hint says what to write instead."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        add_note(self, f"hint: {hint}")
