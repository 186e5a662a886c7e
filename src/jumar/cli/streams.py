"""The standard streams of the command line: closed, full, cut off, or without some characters."""

from __future__ import annotations

import os
import select
import sys
from contextlib import suppress
from typing import BinaryIO, TextIO

from jumar.core.compat import zip
from jumar.core.errors import UserError

_OUTPUTS = (1, 2)
_missing: set[str] = set()
"""Streams that were closed when we started."""


def prepare() -> None:
    """Make the streams fit to use: a closed one leads nowhere, and what a terminal cannot show is escaped."""
    _fill_closed()
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _fill_closed() -> None:
    """A number below 3 that is free would go to the first file we open, and the output of programs into it."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            _missing.add(name)
            os.open(os.devnull, os.O_RDWR)  # The lowest free number is this one.
            os.set_inheritable(number, True)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8", closefd=False))  # noqa: SIM115


def given() -> BinaryIO:
    """Standard input, which the user named as `-`."""
    if "stdin" in _missing:
        raise UserError("standard input is closed", "name a file, or send its text with `jumar … - < FILE`")
    return sys.stdin.buffer


def flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()


def has_no_reader() -> bool:
    """Has whoever read our output or our messages gone?"""
    waiting = select.poll()
    for number in _OUTPUTS:
        waiting.register(number, 0)
    return any(event & select.POLLERR for _, event in waiting.poll(0))


def give_up() -> None:
    """Drop what cannot be written, so that the interpreter does not try again at its end."""
    for number, stream in zip(_OUTPUTS, (sys.stdout, sys.stderr), strict=True):
        if _fails(stream):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, number)
            os.close(nowhere)
            with suppress(OSError, ValueError):
                stream.flush()


def _fails(stream: TextIO) -> bool:
    try:
        stream.flush()
    except (OSError, ValueError):
        return True
    return False
