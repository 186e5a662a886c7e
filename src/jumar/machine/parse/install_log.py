"""Reads the log of driver and firmware packages: how did the last installation end?

Lines: `[Driver] [2023-07-10 22:25:04] [INFO]Driver package installed successfully! …` (public install logs).
"""

from __future__ import annotations

import re
from typing import NamedTuple

_LINE = re.compile(r"^\[(Driver|Firmware)\] \[([0-9: -]+)\] \[(\w+)\]\s*(.+?)\s*$", re.M)


class Ended(NamedTuple):
    when: str
    good: bool
    text: str


def ended(text: str) -> dict[str, Ended]:
    """By package: its last success or error, whichever came last."""
    found: dict[str, Ended] = {}
    for package, when, level, message in _LINE.findall(text):
        good = "successfully" in message
        if good or level == "ERROR":
            found[package] = Ended(when, good, message)
    return found
