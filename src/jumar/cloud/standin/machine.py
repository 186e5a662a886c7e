"""What the processes of a stand-in's job are started with: handed in from above, since cloud knows no emulator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Machine(NamedTuple):
    variables: Mapping[str, str] = {}
    """Of the emulated devices."""
    python: str = ""
    """Interpreter of the job; Jumar's own if it is empty."""
    where: str = ""
    """One line for the user: on which NPUs it runs."""


PLAIN = Machine()
