"""A plan, or the reason why there is none, as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from jumar.machine.plan.build import Plan
from jumar.machine.plan.candidates import Candidate
from jumar.machine.plan.render.text import command
from jumar.machine.plan.solve import Conflict
from jumar.machine.plan.wish import Asked

VERSION = 1
"""Raised when a field changes its meaning or goes; new fields do not count."""


def plan(made: Plan) -> str:
    content = {
        "version": VERSION,
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
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def conflict(found: Conflict, asked: Asked) -> str:
    content = {
        "version": VERSION,
        "fits": False,
        "wishes": found.wishes,
        "reasons": [asdict(reason) for reason in found.reasons],
        "nearest": [
            {
                **_set(near.candidate),
                "changes": [{"wish": said, "instead": value} for said, value in near.changes],
                "command": command(near, asked),
            }
            for near in found.nearest
        ],
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _set(one: Candidate) -> dict[str, Any]:
    return {
        "family": one.family,
        "arch": one.arch,
        "python": one.python,
        "cann": one.cann,
        "framework": one.framework,
        "framework_version": one.version or None,
    }
