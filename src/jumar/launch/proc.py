"""Runs a program of an engine (sbatch, kubectl, ssh, hccn_tool) and tells a missing or failing one clearly."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Sequence

from jumar.core.errors import UserError


def require(program: str) -> None:
    """Refuse to go on without a program."""
    if shutil.which(program) is None:
        raise UserError(f"`{program}` is not installed here", "`--print` shows what would be started")


def run(words: Sequence[str], timeout: float = 60, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """What a command says; an end that is not good is for the caller to judge."""
    require(words[0])
    try:
        return subprocess.run(
            list(words), input=stdin, capture_output=True, text=True, errors="replace", timeout=timeout, check=False
        )
    except OSError as error:
        raise UserError(f"cannot start `{words[0]}`: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise UserError(f"`{shlex.join(words)}` did not answer in {timeout:.0f} s") from error


def must(words: Sequence[str], timeout: float = 60) -> str:
    """The output of a command that has to succeed."""
    done = run(words, timeout)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise UserError(f"`{shlex.join(words)}` failed: {said[-1] if said else f'exit code {done.returncode}'}")
    return done.stdout
