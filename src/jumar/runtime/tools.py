"""External programs (sbatch, kubectl, ssh, hccn_tool), with a clear error when one is missing or fails."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Sequence

from jumar.core.errors import UserError
from jumar.runtime import process

TIMEOUT = 60.0


def require(program: str) -> None:
    """Raise an error if a program is missing."""
    if shutil.which(program) is None:
        raise UserError(f"`{program}` is not installed here", "`--print` shows what would be started")


def ask(words: Sequence[str], timeout: float = TIMEOUT) -> process.Done:
    """The output of a program; the caller checks its exit code."""
    require(words[0])
    try:
        return process.run(words, timeout=timeout)
    except process.Late as error:
        raise UserError(f"`{shlex.join(words)}` did not answer in {timeout:.0f} s") from error


def must(words: Sequence[str], timeout: float = TIMEOUT) -> str:
    """The output of a program that has to succeed."""
    done = ask(words, timeout)
    if done.code:
        raise UserError(f"`{shlex.join(words)}` failed: {done.last or f'exit code {done.code}'}")
    return done.out
