"""Places in the source: file and line of the program in a call stack."""

from __future__ import annotations

import re
from collections.abc import Iterable

from jumar.perf.profile import HostOp

_FRAME = re.compile(r"(?P<path>[^\s;,()'\"]+\.py)\((?P<line>\d+)\)|(?P<path2>[^\s;,()'\"]+\.py):(?P<line2>\d+)")
_FRAMEWORK = re.compile(
    r"(?:^|/)(?:torch|torch_npu|mindspore|site-packages|dist-packages|jumar|lib/python3\.\d+)/|<frozen"
)
"""Traces name libraries by their whole path, or from `site-packages` on."""


def is_framework(path: str) -> bool:
    return _FRAMEWORK.search(path) is not None


def is_library(path: str) -> bool:
    """One that somebody installed, beside the framework itself: transformers, mmcv …"""
    _, found, rest = path.rpartition("-packages/")
    return bool(found) and not is_framework(rest)


def inside(stack: str) -> str:
    """File and line of the library in which a call of the program ended, empty where there is none between."""
    match = _FRAME.search(stack)
    path = (match["path"] or match["path2"]) if match else ""
    if match is None or not is_library(path):
        return ""
    return f"{path.rpartition('-packages/')[2]}:{match['line'] or match['line2']}"


def place(stack: str) -> str:
    """File and line of the program in a call stack: the innermost one that is not in a library."""
    first = ""
    for match in _FRAME.finditer(stack):
        path, line = match["path"] or match["path2"], match["line"] or match["line2"]
        found = f"{path}:{line}"
        if not is_framework(path):
            return found
        first = first or found
    return first


def places(ops: Iterable[HostOp]) -> str:
    """The place most operators come from."""
    count: dict[str, int] = {}
    for op in ops:
        if op.stack and (found := place(op.stack)):
            count[found] = count.get(found, 0) + 1
    return max(count, key=lambda name: count[name]) if count else ""
