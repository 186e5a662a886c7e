"""What a check is, and how a list of them is run: side by side, each with its time, none able to stop the others."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

from jumar.core import discover
from jumar.core.compat import StrEnum, dataclass
from jumar.core.finding import Finding, Level
from jumar.machine.host import Host, Unknown
from jumar.tables.load import table

CONNECTION = "DR001"
CRASHED = "DR002"
LATE = "DR003"


class Check(NamedTuple):
    """The declaration that every module in `jumar.machine.checks` has as `CHECK`."""

    id: str
    name: str
    summary: str


class Skip(Exception):
    """The check does not concern this machine; the text says why."""


class Report(NamedTuple):
    """What a check has to say: the facts in one line, and what is wrong."""

    told: str
    findings: tuple[Finding, ...] = ()
    facts: tuple[str, ...] = ()
    """More of them, a line each, for those who ask with `--verbose`."""
    unknown: tuple[Finding, ...] = ()
    """What neither the machine nor the tables can tell."""


class Unit(NamedTuple):
    check: Check
    run: Callable[[Host], Report]


class Status(StrEnum):
    OK = "ok"
    NOTE = "note"
    UNKNOWN = "unknown"
    """Nothing is known to be wrong, but a pair of versions is in no table."""
    WARNING = "warning"
    ERROR = "error"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Outcome:
    check: Check
    status: Status
    told: str
    findings: tuple[Finding, ...] = ()
    seconds: float = 0.0
    facts: tuple[str, ...] = ()


TIME = 60.0
"""Seconds for one check: more than any vendor command may take."""


def units() -> tuple[Unit, ...]:
    """Every check, by id."""
    return tuple(Unit(module.CHECK, module.run) for module in discover.units("jumar.machine.checks", "CHECK"))


def chosen(only: Iterable[str], skip: Iterable[str]) -> tuple[Unit, ...]:
    """The checks that were asked for by id or name."""
    return tuple(
        discover.choose(units(), lambda unit: unit.check, only, skip, "`jumar doctor --list` lists the checks")
    )


def run(host: Host, checks: Iterable[Unit], seconds: float = TIME) -> list[Outcome]:
    """Run the checks side by side; what one finds, or that it broke, comes back in the order of the ids."""
    started = [(unit, *_start(host, unit)) for unit in checks]
    until = time.monotonic() + seconds
    outcomes = []
    for unit, thread, box in started:
        thread.join(max(0.0, until - time.monotonic()))
        outcomes.append(box[0] if box else _late(unit, seconds))
    return outcomes


def finding(check: Check, level: Level, message: str, fix: str | None = None, subject: str = "") -> Finding:
    return Finding(check.id, level, message, fix=fix, doc=check.name, subject=subject)


def error(check: Check, message: str, fix: str | None = None, subject: str = "") -> Finding:
    return finding(check, Level.ERROR, message, fix, subject)


def warning(check: Check, message: str, fix: str | None = None, subject: str = "") -> Finding:
    return finding(check, Level.WARNING, message, fix, subject)


def note(check: Check, message: str, fix: str | None = None, subject: str = "") -> Finding:
    return finding(check, Level.NOTE, message, fix, subject)


def need_npus(host: Host) -> None:
    """Skip a check that has nothing to look at on a machine without NPUs."""
    if not host.has_npus():
        raise Skip("no NPU in this machine")


def limit(name: str) -> float:
    """A bound from `[limits]` of data/machine.toml."""
    return float(table("machine.toml")["limits"][name])


def _start(host: Host, unit: Unit) -> tuple[threading.Thread, list[Outcome]]:
    box: list[Outcome] = []
    # Daemons: a check that hangs for ever must not keep the program from ending.
    thread = threading.Thread(target=lambda: box.append(_outcome(host, unit)), name=unit.check.name, daemon=True)
    thread.start()
    return thread, box


def _outcome(host: Host, unit: Unit) -> Outcome:
    begin = time.monotonic()
    try:
        report = unit.run(host)
    except (Skip, Unknown) as reason:
        return Outcome(unit.check, Status.SKIPPED, str(reason), (), time.monotonic() - begin)
    except Exception as broken:
        place = _place(broken)
        crash = Finding(
            CRASHED, Level.ERROR, f"the check `{unit.check.name}` failed: {type(broken).__name__}: {broken}{place}",
            fix="send `jumar doctor --share --json` with a bug report", doc="crashed", subject=unit.check.id,
        )  # fmt: skip
        return Outcome(unit.check, Status.ERROR, "the check itself failed", (crash,), time.monotonic() - begin)
    findings = (*report.findings, *report.unknown)
    return Outcome(unit.check, _status(report), report.told, findings, time.monotonic() - begin, report.facts)


def _status(report: Report) -> Status:
    """The worst of what is wrong; what is not known comes before notes."""
    levels = {item.level for item in report.findings}
    for level in (Level.ERROR, Level.WARNING):
        if level in levels:
            return Status(level.value)
    if report.unknown:
        return Status.UNKNOWN
    return Status.NOTE if levels else Status.OK


def _late(unit: Unit, seconds: float) -> Outcome:
    item = Finding(
        LATE, Level.ERROR, f"the check `{unit.check.name}` did not finish within {seconds:.0f} s",
        fix=f"jumar doctor --only {unit.check.name}", doc="late", subject=unit.check.id,
    )  # fmt: skip
    return Outcome(unit.check, Status.ERROR, "no answer", (item,), seconds)


def _place(broken: BaseException) -> str:
    trace = broken.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f" ({trace.tb_frame.f_code.co_name}, line {trace.tb_lineno})" if trace else ""
