"""What stood between a program and the machine, as a value."""

from __future__ import annotations

from typing import NamedTuple

UNCAGED = "no sandbox held the project: it ran with all your rights (`--no-sandbox`)"
FIELDS = {
    "sandbox.by": "what held the project: `namespaces`, `bubblewrap`, or `nothing` after `--no-sandbox`",
    "sandbox.filter": "whether dangerous system calls were filtered",
    "sandbox.group": "whether memory and processes were bounded together",
}
"""Of its JSON, for the reference page."""


class Held(NamedTuple):
    by: str
    """`namespaces`, `bubblewrap`, or `nothing` after `--no-sandbox`."""
    filter: bool = False
    """Were dangerous system calls filtered (libseccomp)?"""
    group: bool = False
    """Were memory and processes bounded together (cgroup)?"""

    @property
    def is_cage(self) -> bool:
        return self.by != "nothing"

    @property
    def sentence(self) -> str:
        if not self.is_cage:
            return UNCAGED
        parts = (("a filter of system calls", self.filter), ("a control group", self.group))
        without = " and ".join(what for what, there in parts if not there)
        return f"sandbox: {self.by}" + (f", without {without}" if without else "")
