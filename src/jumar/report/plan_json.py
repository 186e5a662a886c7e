"""A plan, or the reason why there is none, as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from jumar import __version__

if TYPE_CHECKING:
    from jumar.machine.plan.build import Plan
    from jumar.machine.plan.candidates import Candidate
    from jumar.machine.plan.request import PlanRequest
    from jumar.machine.plan.solve import Conflict

VERSION = 1
"""Raised when a field changes its meaning or goes; new fields do not count."""

FIELDS = {
    "version": "version of this shape; raised when a field changes its meaning or is removed",
    "tool.name": "`jumar`",
    "tool.version": "version of Jumar",
    "kind": "`plan`",
    "fits": "whether a set of versions exists; the fields below `nearest` exist only if not, the others only if so",
    "machine.family": "chip family",
    "machine.arch": "`x86_64` or `aarch64`",
    "machine.python": "Python version",
    "machine.cann": "CANN version",
    "machine.framework": "`torch`, `mindspore` or `none`",
    "machine.framework_version": "its version, or null",
    "machine.chip": "the chip as it was given or found, or null",
    "machine.system": "the operating system, or null",
    "versions[].name": "a part: `driver`, `CANN toolkit`, `torch_npu`, …",
    "versions[].version": "its version, or null where the tables have none",
    "versions[].confidence": "`official`, `high`, `medium` or `low`",
    "versions[].source": "the source",
    "versions[].note": "a remark, or null",
    "packages[].kind": "`driver`, `firmware`, `toolkit`, `ops` or `nnal`",
    "packages[].file": "its name; `*` stands for a number that is not in the tables",
    "packages[].url": "its address, or null",
    "packages[].page": "the page where it is offered",
    "packages[].confidence": "how sure the address is: `official` or `low` (made from the pattern of others)",
    "packages[].inner": "the installer inside of an archive, or null",
    "packages[].found": "where `--packages` found it, or null",
    "packages[].version": "the version that its version file will show, or null",
    "steps[].id": "short name of the step",
    "steps[].title": "what it does",
    "steps[].do": "bash that does it; it uses the functions at the top of `--format shell`",
    "steps[].done": "bash that succeeds when it is done",
    "steps[].undo": "how to undo it",
    "steps[].root": "does it need root?",
    "steps[].needs": "package files that it needs",
    "steps[].note": "a remark, or null",
    "steps[].shown": "what a person types instead of `do`, or empty",
    "steps[].look": "what a person types to see that it is done, or empty",
    "steps[].restart": "may a restart of the machine be what is missing when it fails?",
    "notes": "remarks about the plan",
    "findings[].id": "a pair that is not known, or a finding about the packages, for `jumar explain`",
    "findings[].level": "`warning` (not known) or `error`",
    "findings[].message": "what was found",
    "findings[].fix": "what to do",
    "wishes": "the smallest group of requests that exclude each other",
    "reasons[].wish": "one of them",
    "reasons[].about": "what it is about",
    "reasons[].others": "the other ones",
    "reasons[].left": "what the others leave possible for it",
    "reasons[].sources": "the source",
    "nearest[].family": "a set that works; the fields are those of `machine`",
    "nearest[].changes[].wish": "a request that it does not meet",
    "nearest[].changes[].instead": "what it has instead",
    "nearest[].command": "the command that gives this set",
}
"""Every field that can appear, for the reference page; a test compares it with what is written."""


def plan(made: Plan) -> dict[str, Any]:
    return {
        "version": VERSION,
        "tool": {"name": "jumar", "version": __version__},
        "kind": "plan",
        "fits": True,
        "machine": {**_set(made.candidate), "chip": made.chip, "system": made.system.name if made.system else None},
        "versions": [asdict(part) for part in made.parts],
        "packages": [
            {**asdict(package), "found": str(package.found) if package.found else None} for package in made.packages
        ],
        "steps": [asdict(step) for step in made.steps],
        "notes": made.notes,
        "findings": [
            {"id": one.id, "level": one.level, "message": one.message, "fix": one.fix} for one in made.findings
        ],
    }


def conflict(found: Conflict, asked: PlanRequest) -> dict[str, Any]:
    return {
        "version": VERSION,
        "tool": {"name": "jumar", "version": __version__},
        "kind": "plan",
        "fits": False,
        "wishes": found.wishes,
        "reasons": [asdict(reason) for reason in found.reasons],
        "nearest": [
            {
                **_set(near.candidate),
                "changes": [{"wish": said, "instead": value} for said, value in near.changes],
                "command": near.command(asked),
            }
            for near in found.nearest
        ],
    }


def _set(one: Candidate) -> dict[str, Any]:
    return {
        "family": one.family,
        "arch": one.arch,
        "python": one.python,
        "cann": one.cann,
        "framework": one.framework,
        "framework_version": one.version or None,
    }
