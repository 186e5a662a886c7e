"""How work that takes long tells its caller where it is: plain callables, so that a notebook can pass its own."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Called with the number of things done and the number of all."""

    def __call__(self, done: int, total: int, /) -> None: ...


class Tell(Protocol):
    """Called with one line for a person."""

    def __call__(self, text: str, /) -> None: ...


def silent(text: str, /) -> None:
    """The `Tell` of callers who listen to nothing."""
