"""A plan, or the reason why there is none, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jumar.core.lang import meet, pad, t, width

if TYPE_CHECKING:
    from jumar.machine.plan.build import Plan
    from jumar.machine.plan.packages import Package
    from jumar.machine.plan.request import PlanRequest
    from jumar.machine.plan.solve import Conflict, Reason

SHOWN = 8
"""Values that are named of what is left."""


def plan(made: Plan) -> str:
    """Versions, files, steps and notes."""
    blocks = [_title(made), _versions(made)]
    if made.packages:
        blocks.append("\n".join(["Packages", *(_package(package) for package in made.packages)]))
    if made.steps:
        blocks.append(_steps(made))
    if made.notes:
        blocks.append("\n".join(["Notes", *(f"  {note}" for note in made.notes)]))
    return "\n\n".join(blocks) + "\n"


def conflict(found: Conflict, asked: PlanRequest) -> str:
    """Which wishes exclude each other, what the rest leaves for each, and the nearest sets that work."""
    wishes = " and ".join(f"`{wish}`" for wish in found.wishes)
    lines = [
        f"nothing fits: {wishes} {'exclude each other' if len(found.wishes) > 1 else 'is not in the tables'}",
        "",
    ]
    for reason in found.reasons:
        lines.append(f"  {_reason(reason)}")
        lines += [f"    source: {source}" for source in reason.sources]
    lines += ["", "The nearest sets that work:"]
    for near in found.nearest:
        changes = ", ".join(f"`{said}` becomes {value}" for said, value in near.changes)
        lines += [f"  {near.candidate}", f"    changes: {changes}", f"    {near.command(asked)}"]
    return "\n".join(lines) + "\n"


def _reason(reason: Reason) -> str:
    left = ", ".join(reason.left[-SHOWN:]) or "nothing"
    more = f"{len(reason.left) - SHOWN} older and " if len(reason.left) > SHOWN else ""
    if not reason.others:
        return f"`{reason.wish}` is in no row; the tables have {more}{left}"
    return f"with {' and '.join(f'`{other}`' for other in reason.others)}, {reason.about} can be {more}{left}"


def _title(made: Plan) -> str:
    one = made.candidate
    chip = made.chip or "any chip"
    family = f" ({one.family})" if made.chip and made.chip != one.family else ""
    system = made.system.name if made.system else "system not in the tables"
    return f"Plan for {chip}{family}, {system}, {one.arch}{', without root' if made.no_root else ''}"


def _versions(made: Plan) -> str:
    rows = [
        (
            t(part.name),
            t(part.version or "not known"),
            t(part.confidence or ""),
            t(part.source or ""),
            t(part.note or ""),
        )
        for part in made.parts
    ]
    name, version, trust = (max(width(row[at]) for row in rows) for at in range(3))
    lines = ["Versions"]
    for row in rows:
        lines.append(f"  {pad(row[0], name)}  {pad(row[1], version)}  {pad(row[2], trust)}  {row[3]}")
        if row[4]:
            lines.append(f"  {'':{name}}  {row[4]}")
    return "\n".join(lines)


def _package(package: Package) -> str:
    sure = package.url and package.confidence == "official"
    where = f"found: {package.found}" if package.found else package.url if sure else f"see {package.page}"
    guess = f" (by its pattern: {package.url})" if package.url and not sure and not package.found else ""
    return f"  {package.title}: {package.file}\n    {where}{guess}"


def _steps(made: Plan) -> str:
    values = made.places
    names = ("ASCEND", "PACKAGES", "VENV", "PYTHON")
    where = ", ".join(f"{name}={values[name].replace('$PLAN_HOME', '~')}" for name in names)
    lines = ["Steps", f"  with {where}"]
    for number, step in enumerate(made.steps, 1):
        lines += ["", meet(f"  {number}. {t(step.title)}", t(" (as root)") if step.root else "")]
        lines += [f"       {line}" for line in (step.shown or step.do).splitlines()]
        if step.look:
            lines.append(meet(f"     {t('check:')} ", step.look))
        if step.note:
            lines.append(f"     note: {step.note}")
    return "\n".join(lines)
