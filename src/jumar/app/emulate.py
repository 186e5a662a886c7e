"""`jumar emulate`: the virtual Ascend machine, switched on for a shell or a virtual environment, and what it covers."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jumar.core.compat import dataclass
from jumar.core.errors import UserError


@dataclass(frozen=True, slots=True)
class MachineRequest:
    """The machine to emulate; what is None is left to the variables of the shell and the chip's own values."""

    soc: str | None = None
    cards: int | None = None
    memory: str | None = None


@dataclass(frozen=True, slots=True)
class Shell:
    """A program on the machine: its words, its variables, and the machine as it is announced."""

    words: tuple[str, ...]
    variables: Mapping[str, str]
    cards: int
    soc: str

    def start(self) -> int:
        """Replace this process by the program, or run it and return its exit code."""
        from jumar.emulate import command

        return command.execute(command.Command(self.words, dict(self.variables), ""))


@dataclass(frozen=True, slots=True)
class Prefix:
    """The files of a virtual CANN, by their names below `folder`; the value is where a link points, else empty."""

    folder: Path
    entries: Mapping[str, str]

    @property
    def set_env(self) -> Path:
        return self.folder / "ascend-toolkit" / "set_env.sh"


@dataclass(frozen=True, slots=True)
class Switched:
    """What `on` or `off` did to a virtual environment."""

    environment: str
    marker: str
    changed: bool
    still_on: bool = False
    """Emulation is off here, but a variable of this shell still asks for it."""


@dataclass(frozen=True, slots=True)
class EmulatedMachine:
    soc: str
    cards: int
    memory_mib: int


@dataclass(frozen=True, slots=True)
class Status:
    """Whether programs started here get emulated NPUs, and what asked for them."""

    emulated: bool
    by: str
    marker: str | None
    real_npus: int
    cann: bool
    machine: EmulatedMachine | None

    def to_json(self) -> dict[str, Any]:
        """The document that `--json` prints."""
        from dataclasses import asdict

        from jumar.report import json

        return json.document(asdict(self))


def environment(request: MachineRequest) -> dict[str, str]:
    """The variables of the machine, with a directory in the cache for npu-smi and the like."""
    from jumar.emulate import env, prefix

    values = env.environment(request.soc, request.cards, request.memory, os.environ)
    prefix.prepare(values)
    return prefix.environment(prefix.default_place(values), values, os.environ)


def shell(words: Sequence[str], request: MachineRequest) -> Shell:
    """A command on the machine; without words the user's shell, whose programs need not announce the machine again."""
    from jumar.runtime import variables

    values = environment(request)
    if not words:
        values[variables.ANNOUNCED.name] = "1"
    chosen = tuple(words) or (os.environ.get("SHELL") or "/bin/sh",)
    return Shell(chosen, values, variables.CARDS.read(values), variables.SOC.read(values))


def prefix(folder: Path, request: MachineRequest, *, dry: bool = False) -> Prefix:
    """Write a directory that looks like an installed CANN; with `dry` only tell what it would hold."""
    from jumar.emulate import env
    from jumar.emulate import prefix as prefixes

    place = Path(os.path.abspath(folder))
    entries = prefixes.build(place, env.environment(request.soc, request.cards, request.memory, os.environ))
    if not dry:
        prefixes.write(place, entries)
    return Prefix(place, {name: str(entry.link or "") for name, entry in sorted(entries.items())})


def switch_on(request: MachineRequest) -> Switched:
    """Give every program of this virtual environment emulated NPUs."""
    from jumar.emulate import env
    from jumar.runtime import activation

    path = activation.switch_on(env.environment(request.soc, request.cards, request.memory))
    return Switched(sys.prefix, path, True)


def switch_off() -> Switched:
    """Undo `switch_on`."""
    from jumar.runtime import activation

    was = activation.switch_off()
    return Switched(sys.prefix, activation.marker(), was, activation.decide(os.environ).on)


def status() -> Status:
    """Whether emulation is on for programs started here, and why."""
    from jumar.emulate import env
    from jumar.runtime import activation, npus, variables

    found = activation.decide(os.environ)
    by = "prefix" if found.by == "variable" and found.on and variables.PREFIX.read() else found.by
    machine = None
    if found.on:
        values = env.environment(base={**activation.machine(), **os.environ})
        machine = EmulatedMachine(variables.SOC.read(values), variables.CARDS.read(values), env.memory_mib(values))
    marker = activation.marker()
    return Status(
        emulated=found.on,
        by=by,
        marker=marker if os.path.exists(marker) else None,
        real_npus=len(npus.devices()),
        cann=npus.has_cann(os.environ),
        machine=machine,
    )


def coverage() -> dict[str, Any]:
    """Every function and operator with its state, as `--json` prints it."""
    from jumar.emulate import coverage as covered
    from jumar.report import json

    return json.document(covered.document(covered.read()))


def coverage_page() -> str:
    """The same as the page docs/reference/emulator-coverage.md."""
    from jumar.emulate import coverage as covered

    return covered.page(covered.read())


def coverage_of(name: str | None = None) -> list[str]:
    """The state of a function or operator in a few lines; without a name how many are in which state."""
    from jumar.emulate import coverage as covered

    found = covered.read()
    if not name:
        return list(covered.counts(found))
    lines = covered.about(found, name)
    if not lines:
        from jumar.core.nearest import did_you_mean

        raise UserError(f"not in the list: `{name}`", did_you_mean(name, covered.names(found), "`--json` lists all"))
    return list(lines)
