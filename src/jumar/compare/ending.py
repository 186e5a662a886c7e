"""How a recorded program ended, as far as it can know itself: `running` until it has closed its record."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any


class Ending:
    """What a record says about its end; a program that is killed never gets to say more than `running`."""

    def __init__(self, began: float | None = None) -> None:
        self._began = time.time() if began is None else began
        self._state = "running"
        self._seconds: float | None = None

    def watch(self) -> Callable[[], None]:
        """Listen for an exception that ends the program; what is given back undoes it."""
        plain = sys.excepthook

        def heard(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
            self.failed(kind)
            plain(kind, error, trace)

        sys.excepthook = heard

        def undo() -> None:
            if sys.excepthook is heard:
                sys.excepthook = plain

        return undo

    def failed(self, kind: type[BaseException]) -> None:
        if self._state == "running" and not issubclass(kind, SystemExit):
            self._state = f"failed: {kind.__name__}"

    def recorded(self) -> None:
        """The last step that is recorded whole is done."""
        self._seconds = time.time() - self._began

    def close(self) -> None:
        if self._state == "running":
            self._state = "finished"

    def meta(self) -> dict[str, Any]:
        """`seconds`: from the start of the program to the end of the last step that is recorded whole."""
        return {"ended": self._state, "seconds": self._seconds}
