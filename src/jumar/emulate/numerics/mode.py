"""Which arithmetic a program asked for, and what it means on its chip."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from jumar.core.errors import UserError
from jumar.core.nearest import did_you_mean
from jumar.runtime import variables
from jumar.tables import numerics, socs
from jumar.tables.numerics import Rule

CPU, CARD = variables.NUMERICS_MODES


class Mode(NamedTuple):
    """`card` or `card:SEED` on a chip."""

    family: str
    seed: int

    @property
    def rules(self) -> tuple[Rule, ...]:
        return numerics.of_chip(self.family)


def check(text: str) -> str:
    """The text itself; a user's mistake is named."""
    name, _, seed = text.partition(":")
    if name not in variables.NUMERICS_MODES:
        raise UserError(
            f"`--numerics {text}` is not known",
            did_you_mean(name, variables.NUMERICS_MODES, "write `card`, `card:SEED` or `cpu`"),
        )
    if not variables.NUMERICS.kind.accepts(text):
        raise UserError(f"`{seed}` is not a seed", variables.NUMERICS.kind.hint)
    return text


def read(environ: Mapping[str, str] | None = None) -> Mode | None:
    """The mode of an environment; None where results are the CPU's."""
    name, _, seed = variables.NUMERICS.read(environ).partition(":")
    if name == CPU:
        return None
    soc = variables.SOC.read(environ)
    family = socs.family(soc)
    if not numerics.of_chip(family):
        raise UserError(f"nothing is known about the arithmetic of `{soc}`", "name a chip such as 910B3 with `--chip`")
    return Mode(family, int(seed or 0))


def told(mode: Mode, environ: Mapping[str, str]) -> str:
    """One line: the rules that are on when the program starts."""
    names = [rule.short for rule in mode.rules if rule.short and _on(rule.name, mode, environ)]
    return f"jumar: numerics of the card, seed {mode.seed}: {'; '.join(names)}"


def _on(name: str, mode: Mode, environ: Mapping[str, str]) -> bool:
    if name == "saturation-on-request":
        return environ.get("INF_NAN_MODE_FORCE_DISABLE") == "1"
    return name != "hf32-matmul"
