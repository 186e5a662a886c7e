"""The one exception for user mistakes, and the exit codes of every command."""

from __future__ import annotations

EXIT_OK = 0
EXIT_FINDINGS = 1
EXIT_FAILED = 2
EXIT_UNKNOWN = 3


class UserError(Exception):
    """Something the user can put right: shown as `error: message` and `hint: …`, never as a traceback."""

    def __init__(self, message: str, hint: str | None = None, doc: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.doc = doc
