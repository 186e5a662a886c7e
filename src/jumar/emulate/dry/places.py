"""Where the program is: the line that called an operator."""

from __future__ import annotations

import functools
import os
import sys
import threading
from types import FrameType

from jumar.emulate.glue.record import own_frame


def here() -> str:
    """`train.py:12`; the place where the main thread waits, for operators of the backward pass."""
    found = own_frame(sys._getframe(1))
    if found is None:
        found = own_frame(sys._current_frames().get(threading.main_thread().ident or 0))
    return _text(found)


def _text(frame: FrameType | None) -> str:
    return f"{_short(frame.f_code.co_filename)}:{frame.f_lineno}" if frame else ""


@functools.cache
def _short(name: str) -> str:
    own = os.getcwd() + os.sep
    if name.startswith(own):
        return name[len(own) :]
    return name.rpartition("site-packages" + os.sep)[2]


WAITS = "|waits"
"""Behind the place of a functional collective: it is called without waiting, and its result is waited for at once."""
_FUNCTIONAL = "_functional_collectives.py"
_DEPTH = 8


def noted() -> str:
    """The place of a new peak or a collective, for the ledger."""
    return here() + (WAITS if _is_functional(sys._getframe(1)) else "")


def _is_functional(frame: FrameType | None) -> bool:
    for _ in range(_DEPTH):
        if frame is None:
            return False
        if frame.f_code.co_filename.endswith(_FUNCTIONAL):
            return True
        frame = frame.f_back
    return False
