"""What the tables cannot tell about a plan, as warnings: an unknown pair is never accepted in silence."""

from __future__ import annotations

from jumar.core.finding import Finding, Level
from jumar.machine import pairs
from jumar.machine.pairs import Answer, Fit
from jumar.machine.plan.candidates import Candidate
from jumar.tables import cann as releases
from jumar.tables import installation
from jumar.tables.versions import Release

DRIVER, FRAMEWORK = "PL201", "PL202"


def findings(one: Candidate, driver: str | None, family: str) -> list[Finding]:
    """The pairs of this set that no public table has; `driver` is the one that must run it, if there is one."""
    found = []
    above = _driver(one, driver, family)
    if above.fit is Fit.UNKNOWN:
        what = f"it is not known whether driver {driver} runs CANN {one.cann}" if driver else "the driver is not known"
        page = installation.address("hdk_page")
        fix = f"read the release note of CANN {one.cann} ({page}), or choose a known pair: {_known(one)}"
        found.append(Finding(DRIVER, Level.WARNING, f"{what}: {above.why}", fix=fix, doc="driver-not-known"))
    below = _framework(one)
    if below.fit is Fit.UNKNOWN:
        fix = "read the release note of the framework, or choose another version: `jumar plan` without `--framework`"
        found.append(Finding(FRAMEWORK, Level.WARNING, below.why, fix=fix, doc="pair-not-known"))
    return found


def _driver(one: Candidate, driver: str | None, family: str) -> Answer:
    if driver is not None:
        return pairs.driver_and_cann(driver, one.cann, family)
    kit = releases.kit_for(one.cann)
    known = kit is not None and (bool(kit.products) if family == "950" else kit.hdk is not None)
    return Answer(Fit.FITS if known else Fit.UNKNOWN, f"no public table pairs CANN {one.cann} with a driver")


def _framework(one: Candidate) -> Answer:
    if one.row is None:
        return Answer(Fit.FITS, "CANN alone")
    if isinstance(one.row, Release):
        version = one.row.torch_npu
        return pairs.framework_and_cann("torch_npu", version, pairs.torch_npu(version), one.cann)
    return pairs.framework_and_cann("MindSpore", one.version, pairs.mindspore(one.version), one.cann)


def _known(one: Candidate) -> str:
    """The newest CANN below this one whose driver is known."""
    older = [
        kit.cann for kit in releases.kits().values() if kit.hdk and releases.key(kit.cann) < releases.key(one.cann)
    ]
    return f"`jumar plan --cann {max(older, key=releases.key)}`" if older else "`jumar plan --list cann`"
