"""The record of what the emulator refused and what fell back to the CPU: a file with one line each, kind and name.

`JUMAR_REFUSAL_FILE` names the file; set it before the program first uses a card. Several processes add to it, each line
once and in one write. native/machine/refusals.cpp writes the same lines.
"""

from __future__ import annotations

import contextlib
import os
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from jumar.runtime import variables


class Kind(Enum):
    """Why a line is there."""

    FUNCTION = "function"
    """A CANN function that is not emulated."""
    OPERATOR = "operator"
    """An operator without an implementation."""
    ARGUMENTS = "arguments"
    """A function or operator that is emulated, but not with these arguments."""
    FALLBACK = "fallback"
    """An operator without an NPU kernel, which torch_npu ran on the CPU."""


class Refusal(NamedTuple):
    """One line."""

    kind: Kind
    name: str
    """Of the function or operator: `aclnnGcd`, `LRN`, `npu::npu_lstm`, `aten::_linalg_eigh.eigenvalues`."""


_KINDS = {kind.value: kind for kind in Kind}
_WRITTEN: set[tuple[str, bytes]] = set()


def note(kind: Kind, name: str) -> None:
    """Add a line to the record; does nothing where there is none."""
    path = variables.REFUSAL_FILE.text()
    line = f"{kind.value}\t{name}\n".encode()
    if not path or (path, line) in _WRITTEN:
        return
    _WRITTEN.add((path, line))
    with contextlib.suppress(OSError):  # a record that cannot be kept is no reason to fail
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.write(file, line)
        finally:
            os.close(file)


def read(path: Path) -> tuple[Refusal, ...]:
    """The lines in the order of their first appearance, each once; nothing was refused where there is no file."""
    try:
        return parse(path.read_text(encoding="utf-8", errors="replace"))
    except FileNotFoundError:
        return ()


def parse(text: str) -> tuple[Refusal, ...]:
    lines = (line.partition("\t") for line in text.splitlines(keepends=True))
    whole = (Refusal(_KINDS[kind], name[:-1]) for kind, _, name in lines if kind in _KINDS and name.endswith("\n"))
    return tuple(dict.fromkeys(whole))
