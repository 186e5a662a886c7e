"""What `jumar emulate` prints for people and for shells."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jumar.app.emulate import Prefix, Shell, Status, Switched

_WHY = {
    (True, "variable"): "on: `JUMAR_EMULATE=1` is set",
    (True, "prefix"): "on: this shell is on the emulated machine (`jumar emulate env`, `shell` or its set_env.sh)",
    (True, "environment"): "on: `jumar emulate on` was run in this virtual environment",
    (False, "variable"): "off: `JUMAR_EMULATE=0` is set, which nothing overrules",
    (False, "nothing"): "off: nobody asked for it; `jumar run` and `jumar launch` still do for their own programs",
}


def exports(variables: Mapping[str, str]) -> list[str]:
    """Lines for a shell's `eval`."""
    return [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]


def entered(shell: Shell) -> str:
    cards = "card" if shell.cards == 1 else "cards"
    return f"jumar: a shell on {shell.cards} emulated {shell.soc} {cards}; `exit` leaves it"


def files(prefix: Prefix) -> list[str]:
    return [f"{name} -> {link}" if link else name for name, link in prefix.entries.items()]


def source_line(prefix: Prefix) -> str:
    return f"source {shlex.quote(str(prefix.set_env))}"


def on(switched: Switched) -> list[str]:
    place = f"`{switched.environment}`: wrote `{switched.marker}`"
    return [f"jumar: emulation is on for {place}; `jumar emulate off` removes it"]


def off(switched: Switched) -> list[str]:
    said = "is off" if switched.changed else "was not on"
    lines = [f"jumar: emulation {said} for `{switched.environment}`"]
    if switched.still_on:
        lines.append("jumar: `JUMAR_EMULATE=1` still asks for it in this shell: `unset JUMAR_EMULATE`")
    return lines


def status(found: Status) -> list[str]:
    lines = [f"emulation is {_WHY[found.emulated, found.by]}"]
    if found.machine is not None:
        machine = found.machine
        lines.append(f"cards: {machine.cards} x {machine.soc} with {machine.memory_mib} MiB each")
    used = "are not used while emulation is on" if found.emulated else "are what programs use"
    lines.append(f"real NPUs: {found.real_npus}{f', which {used}' if found.real_npus else ''}")
    return lines
