"""`pytest --npu`: switches this process and all it starts to NPUs, by the rules of `jumar run`."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, NoReturn

from jumar.core.errors import UserError
from jumar.runtime import npus, process, standins, variables

WANTED = "write `--npu`, `--npu=910B3`, `--npu=910B3:2` or `--npu=:2`"
_PYTEST = ("pytest", "py.test", "__main__.py")
"""File names of a main program that is nothing but pytest."""


class Wish(NamedTuple):
    """What `--npu` and `--npu-memory` ask for; None is the default."""

    soc: str | None = None
    cards: int | None = None
    memory: str | None = None


class Machine(NamedTuple):
    """The NPUs that a suite runs on."""

    emulated: bool
    cards: int
    where: str
    """One line for the user."""
    variables: dict[str, str]
    """What is added to the environment."""


def parse(text: str, memory: str | None = None) -> Wish:
    """The wish in `910B3:2`, `910B3`, `:2` or nothing."""
    chip, colon, cards = text.partition(":")
    if colon and not (cards.isdecimal() and chip.strip() == chip):
        raise UserError(f"`--npu={text}` is not a chip and a number of cards", WANTED)
    return Wish(chip or None, int(cards) if colon else None, memory or None)


def present() -> Machine | None:
    """The NPUs of this process where `--npu` was not given: those that are in use already, or real ones."""
    if standins.are_used():
        cards = variables.CARDS.read()
        return Machine(True, cards, f"jumar: {cards} emulated cards", {})
    real = len(npus.devices())
    return Machine(False, real, f"jumar: {real} real NPUs", {}) if real else None


def build(wish: Wish, environ: Mapping[str, str]) -> Machine:
    """The machine that is wished for: real NPUs where there are any, unless emulation was asked for otherwise."""
    from jumar.emulate import command, pair

    asked = ("-m", "pytest")
    plain = command.build(asked, command.RunRequest(), environ)
    if not plain.glue:
        hint = f"{pair.INSTALL}; `jumar run pytest` runs MindSpore suites"
        raise UserError("`--npu` needs torch, which is not installed here", hint)
    if variables.EMULATE.read(plain.variables):
        built = command.build(asked, command.RunRequest(*wish), environ)
        return Machine(True, variables.CARDS.read(built.variables), built.where, built.variables)
    if any(wish):
        raise UserError(
            "`--npu=CHIP:CARDS` and `--npu-memory` describe emulated NPUs, but this run uses real ones",
            f"write plain `--npu` to run on them, or set `{variables.EMULATE}=1` to emulate",
        )
    return Machine(False, len(npus.devices()), plain.where, plain.variables)


def enter(machine: Machine) -> None:
    """Give this process and its children the variables of the machine; starts pytest anew if torch came first."""
    if machine.emulated:
        from jumar.emulate import command

        if "torch" in sys.modules and not standins.are_used():
            _restart(machine)
        command.prepare(command.Command((), machine.variables, machine.where), command.RunRequest())
        os.environ[variables.ANNOUNCED.name] = "1"  # pytest itself says it
    os.environ.update(machine.variables)


def _restart(machine: Machine) -> NoReturn:
    """The same command line with the variables set, so that the stand-ins are there before torch."""
    main = getattr(sys.modules["__main__"], "__file__", None) or ""
    if Path(main).name not in _PYTEST or variables.EMULATE.text() == "1":
        raise UserError(
            "torch was imported before `--npu` could prepare the emulated NPUs",
            "start the program with `jumar run`, which needs no `--npu`",
        )
    with open("/proc/self/cmdline", "rb") as file:
        words = [os.fsdecode(word) for word in file.read().split(b"\0")[1:-1]]
    process.become([sys.executable, *words], {**os.environ, **machine.variables})
