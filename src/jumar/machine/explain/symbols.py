"""C++ symbols in words: `_ZN7c10_npu10NpuRunMode9cur_mode_E` is `c10_npu::NpuRunMode::cur_mode_`."""

from __future__ import annotations

import re

_LENGTH = re.compile(r"\d+")


def readable(symbol: str) -> str:
    """The name without its arguments; other symbols as they are (they are names of C)."""
    if not symbol.startswith("_Z"):
        return symbol
    names = _names(symbol[2:])
    return "::".join(names) or symbol


def _names(text: str) -> list[str]:
    """The parts of a name as the Itanium ABI writes them: `N`, then a length and a name for each part, then `E`."""
    at = re.match(r"(?:T[VISTc]|GV)?N?[KVr]*(?:St)?", text)
    place = at.end() if at else 0
    names = ["std"] if at and at[0].endswith("St") else []
    nested = bool(at and "N" in at[0])
    while length := _LENGTH.match(text, place):
        end = length.end() + int(length[0])
        names.append(text[length.end() : end])
        place = end
        if not nested:
            break
    if nested and names and re.match(r"[CD]\d", text[place:]):
        names.append(("~" if text[place] == "D" else "") + names[-1])
    return names
