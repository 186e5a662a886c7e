"""`jumar plan`: which versions fit together, and the ordered steps that install them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jumar.core.compat import dataclass
from jumar.core.errors import UserError
from jumar.core.finding import Level

if TYPE_CHECKING:
    from jumar.core.finding import Finding
    from jumar.machine.plan.build import Plan, PlanOptions
    from jumar.machine.plan.request import PlanRequest
    from jumar.machine.plan.solve import Conflict

LISTS = ("chips", "systems", "torch", "mindspore", "cann")


@dataclass(frozen=True, slots=True, repr=False)
class PlanResult:
    """A plan, or the smallest group of requests that exclude each other: exactly one of the two is there."""

    request: PlanRequest
    plan: Plan | None = None
    conflict: Conflict | None = None

    @property
    def fits(self) -> bool:
        """Do any versions fit together?"""
        return self.plan is not None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the tables cannot tell (warnings), and what is wrong with the downloaded packages (errors)."""
        return self.plan.findings if self.plan else ()

    @property
    def certain(self) -> bool:
        """Is every pair of the plan in a public table?"""
        return not any(one.level is Level.WARNING for one in self.findings)

    @property
    def usable(self) -> bool:
        """Is there a plan, and nothing wrong with its packages?"""
        return self.fits and not any(one.level is Level.ERROR for one in self.findings)

    @property
    def text(self) -> str:
        """The plan for people, or why there is none."""
        from jumar.report import plan

        if self.conflict is not None:
            return plan.conflict(self.conflict, self.request)
        return plan.plan(self.known)

    @property
    def known(self) -> Plan:
        """The plan; a conflict is an error."""
        if self.plan is None:
            raise UserError("nothing fits", "print the result: it names the wishes that exclude each other")
        return self.plan

    def shell(self) -> str:
        """A bash script that carries the plan out."""
        from jumar.machine.plan import shell

        return shell.script(_with_steps(self.known))

    def dockerfile(self) -> str:
        """A Dockerfile with these versions."""
        from jumar.machine.plan import dockerfile

        return dockerfile.image(_with_steps(self.known))

    def to_json(self) -> dict[str, Any]:
        """The document that `--json` prints."""
        from jumar.report import plan_json

        if self.conflict is not None:
            return plan_json.conflict(self.conflict, self.request)
        return plan_json.plan(self.known)

    def __repr__(self) -> str:
        return f"<PlanResult {self.plan.candidate}>" if self.plan else "<PlanResult nothing fits>"

    def __str__(self) -> str:
        return self.text


def plan(request: PlanRequest, options: PlanOptions | None = None) -> PlanResult:
    """Find versions that fit together; what is left out is read from this machine, or chosen."""
    from jumar.machine.plan import build, host
    from jumar.machine.plan.solve import Conflict

    options = options or build.PlanOptions()
    _check_prefix(options.prefix)
    made = build.make(request, host.read(), options)
    if isinstance(made, Conflict):
        return PlanResult(request, conflict=made)
    return PlanResult(request, made)


def carry_out(result: PlanResult, log: Path, tell: Callable[[int, int, str, str], None]) -> int:
    """Run the steps that are not done; returns how many there are. `tell` gets number, count, title and state."""
    from jumar.machine.plan import execute

    made = _with_steps(result.known)
    if made.findings:
        first = min(made.findings, key=lambda one: one.level is not Level.ERROR)
        raise UserError(f"{first.id} {first.message}", first.fix)
    execute.run(made, log, tell)
    return len(made.steps)


def extras(more: tuple[str, ...] = (), without: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The packages beside the framework: the usual ones, with some and without others."""
    from jumar.core.nearest import did_you_mean
    from jumar.machine.plan.build import EXTRAS, USUAL

    for name in (*more, *without):
        if name not in EXTRAS:
            raise UserError(f"unknown package: `{name}`", did_you_mean(name, EXTRAS, f"known: {', '.join(EXTRAS)}"))
    return tuple(name for name in EXTRAS if name in {*USUAL, *more} - set(without))


def names(what: str) -> list[str]:
    """The names that the tables know: one of `LISTS`."""
    from jumar.tables import cann, chips, installation, mindspore_versions, torch_releases

    if what == "chips":
        rows = installation.families()
        return [
            f"{name}: {', '.join([c for c, f in chips.chips().items() if f == name])}; {', '.join(rows[name].names)}"
            for name in rows
        ]
    if what == "systems":
        return list(installation.systems())
    if what == "torch":
        return torch_releases.releases()
    return [row.mindspore for row in mindspore_versions.releases()] if what == "mindspore" else list(cann.known())


def _check_prefix(prefix: str | None) -> None:
    """The vendor's installers take only plain absolute paths."""
    if prefix is not None and not re.fullmatch(r"(/[A-Za-z0-9_-]+)+/?", prefix):
        raise UserError(f"not a place for CANN: `{prefix}`", "an absolute path of letters, digits, `-` and `_`")


def _with_steps(made: Plan) -> Plan:
    if not made.steps:
        raise UserError("no chip was found on this machine", "name it: `--chip 910B3`; `--list chips` lists them")
    return made
