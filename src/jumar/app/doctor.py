"""`jumar doctor`: is a machine right, this one, another one over ssh, or one that was recorded?"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jumar.core.compat import dataclass
from jumar.core.errors import UserError

if TYPE_CHECKING:
    from jumar.core.finding import Finding
    from jumar.machine.check import Check, Outcome
    from jumar.machine.host import Host
    from jumar.machine.probe import Probe


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorRequest:
    """Which machine to check, and how; this machine if none is named."""

    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    folder: Path | None = None
    """Check the machine that was collected into this folder."""
    host: str | None = None
    """Check this machine over ssh."""
    collect: Path | None = None
    """Write what the checks ask into this folder instead of checking."""
    python: str | None = None
    """The Python that programs run on."""
    timeout: float = 15.0
    """Seconds that a vendor command may take."""
    share: bool = False
    """Remove names of users and hosts, addresses and tokens."""


@dataclass(frozen=True, slots=True, repr=False)
class DoctorResult:
    """What every check says about the machine."""

    outcomes: tuple[Outcome, ...]
    name: str
    emulated: bool
    seconds: float
    collected: Path | None = None
    """The file that was written instead of checking."""
    reachable: bool = True
    scrub: Callable[[str], str] = field(default=str)
    """Takes out of a text what must not be shared."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is wrong, or worth a note."""
        return tuple(item for outcome in self.outcomes for item in outcome.findings)

    @property
    def healthy(self) -> bool:
        """Is there neither an error nor a warning?"""
        return not any(outcome.status.value in ("error", "warning") for outcome in self.outcomes)

    @property
    def certain(self) -> bool:
        """Could every check tell?"""
        return not any(outcome.status.value == "unknown" for outcome in self.outcomes)

    def to_json(self) -> dict[str, Any]:
        """The document that `--json` prints."""
        from jumar.machine.probe import over
        from jumar.report import doctor, json

        machine = {"name": self.name, "emulated": self.emulated}
        fields: dict[str, Any] = over(doctor.document(self.outcomes, machine, self.seconds), self.scrub)
        return json.document(fields)

    def html(self) -> str:
        """One self-contained page."""
        from jumar.report.pages import doctor

        return doctor.page(self.to_json()).html()

    def __repr__(self) -> str:
        from jumar.report import doctor

        return self.scrub(f"<DoctorResult {self.name}: {doctor.summary(self.outcomes, self.seconds)}>")


def doctor(request: DoctorRequest) -> DoctorResult:
    """Run the checks; nothing is changed."""
    from jumar.machine import check
    from jumar.machine.probe.ssh import Unreachable

    if request.folder and (request.host or request.collect):
        raise UserError("`--from` excludes `--host` and `--collect`", "choose one machine")
    units = check.units() if request.collect else check.chosen(request.only, request.skip)
    try:
        probe = _probe(request)
    except Unreachable as reason:
        return _unreachable(request, str(reason))
    try:
        return _examine(probe, units, request)
    finally:
        probe.close()


def checks() -> list[Check]:
    """Id, name and summary of every check."""
    from jumar.machine import check

    return [unit.check for unit in check.units()]


def _probe(request: DoctorRequest) -> Probe:
    if request.folder is not None:
        from jumar.machine.probe import recorded

        return recorded.load(request.folder)
    if request.host is not None:
        from jumar.machine.probe.ssh import Remote

        remote = Remote(request.host)
        try:
            remote.connect()
        except BaseException:
            remote.close()
            raise
        return remote
    from jumar.machine.probe.local import Local

    return Local(os.environ)


def _examine(probe: Probe, units: Any, request: DoctorRequest) -> DoctorResult:
    from jumar.machine import check
    from jumar.machine.host import Host
    from jumar.machine.probe.recorded import Recorder

    recorder = Recorder(probe) if request.collect else None
    host = Host(recorder or probe, request.python, request.timeout)
    begin = time.monotonic()
    outcomes = tuple(check.run(host, units, max(check.TIME, 3 * request.timeout)))
    seconds = time.monotonic() - begin
    if probe.broken:
        return _unreachable(request, probe.broken)
    scrub = _scrubber(host, request)
    path = None
    if recorder is not None and request.collect is not None:
        path = recorder.save(request.collect, scrub)
    return DoctorResult(outcomes, probe.name, host.prefix is not None, seconds, path, scrub=scrub)


def _scrubber(host: Host, request: DoctorRequest) -> Callable[[str], str]:
    if not request.share:
        return str
    from jumar.machine.share import scrubber

    return scrubber(host, [request.host] if request.host else [])


def _unreachable(request: DoctorRequest, reason: str) -> DoctorResult:
    """A finding like any other, but nothing could be checked."""
    from jumar.core.finding import Finding, Level
    from jumar.machine import check

    hidden = request.share
    name = "the host" if hidden else str(request.host)
    login = "USER@NODE" if hidden else request.host
    message = f"cannot reach {name}" if hidden else f"cannot reach `{name}`: {reason}"
    fix = f"ssh {login} true   # must work without a password; or use `--collect` there"
    item = Finding(check.CONNECTION, Level.ERROR, message, fix=fix, doc="connection")
    unit = check.Check(check.CONNECTION, "connection", "the machine can be reached")
    outcome = check.Outcome(unit, check.Status.ERROR, "no connection", (item,))
    return DoctorResult((outcome,), name, False, 0.0, reachable=False)
