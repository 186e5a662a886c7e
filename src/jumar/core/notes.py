"""Notes: single lines that whoever runs a command should know beside its result, such as a setting that was ignored.

Whatever finds one adds it; whoever listens (the command line, a result of `jumar.api`) gets each once, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_heard: ContextVar[tuple[list[str], ...]] = ContextVar("heard", default=())
_hear: ContextVar[Callable[[str], object] | None] = ContextVar("hear", default=None)


def add(text: str) -> None:
    """Tell those who listen; a text that was told already is not told again."""
    is_new = True
    for texts in _heard.get():
        if text in texts:
            is_new = False
        else:
            texts.append(text)
    hear = _hear.get()
    if is_new and hear is not None:
        hear(text)


@contextmanager
def collected(hear: Callable[[str], object] | None = None) -> Iterator[list[str]]:
    """The notes of the block; `hear` is called with each at once."""
    texts: list[str] = []
    kept = _heard.set((*_heard.get(), texts))
    before = _hear.set(hear or _hear.get())
    try:
        yield texts
    finally:
        _hear.reset(before)
        _heard.reset(kept)


def heard() -> list[str]:
    """What the outermost listener has heard so far."""
    lists = _heard.get()
    return list(lists[0]) if lists else []
