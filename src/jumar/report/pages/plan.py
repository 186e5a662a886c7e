"""The page of versions that fit together, or of the wishes that exclude each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jumar.core.words import counted
from jumar.report import parts
from jumar.report.page import Page, Section, Stage, Step, Verdict
from jumar.report.parts import Markup
from jumar.report.words import t

KINDS = ("plan",)
LEVELS = {"error": "red", "warning": "amber", "note": "grey"}


def page(document: dict[str, Any]) -> Page:
    made = _fitting(document) if document["fits"] else _conflict(document)
    return Page(
        "plan",
        t("Which versions fit together?"),
        made["subject"],
        made["verdict"],
        command=made["command"],
        stages=[Stage.MACHINE],
        facts=made["facts"],
        sections=made["sections"],
        steps=made["steps"],
        points=made["points"],
    )


def _fitting(document: dict[str, Any]) -> dict[str, Any]:
    machine, found = document["machine"], document["findings"]
    wanted = f"{machine['framework']} {machine['framework_version'] or ''}".strip()
    said = t(
        "CANN {cann} with {wanted} on Python {python}", cann=machine["cann"], wanted=wanted, python=machine["python"]
    )
    command = (
        f"jumar plan --chip {machine['chip']} --framework {wanted.replace(' ', '==')}"
        if machine["chip"]
        else "jumar plan"
    )
    facts = [(name, str(machine[name])) for name in ("chip", "family", "arch", "system") if machine[name]]
    return {
        "command": command,
        "subject": machine["chip"] or machine["family"],
        "verdict": Verdict.warn(f"{said}; {counted(len(found), 'finding')}")
        if found
        else Verdict.good(said, t("match")),
        "facts": facts,
        "sections": list(_sections(document)),
        "steps": [
            Step(t("install it on the machine"), f"{command} --format shell > install.sh"),
            Step(t("then look"), "jumar doctor"),
        ],
        "points": [row["message"] for row in found[:3]],
    }


def _sections(document: dict[str, Any]) -> Iterator[Section]:
    rows = [
        (t(row["name"]), row["version"] or t("not known"), t(row["confidence"] or ""), row["note"] or "")
        for row in document["versions"]
    ]
    heads = [t("part"), t("version"), t("confidence"), t("note")]
    yield Section(t("Versions"), parts.table(heads, rows, name=t("versions")), "versions")
    if document["findings"]:
        shown = Markup("").join(
            parts.panel(
                row["message"],
                parts.bullets([row["fix"]] if row["fix"] else []),
                hue=LEVELS[row["level"]],
                badge=f"{row['id']} {row['level']}",
            )
            for row in document["findings"]
        )
        yield Section(t("Findings"), shown, "findings")
    steps = Markup("").join(
        parts.fold(
            f"{number}. {step['title']}",
            parts.pre(step["shown"] or step["do"]) + parts.bullets([step["note"]] if step["note"] else []),
        )
        for number, step in enumerate(document["steps"], 1)
    )
    yield Section(t("Steps"), steps, "steps")
    if document["notes"]:
        yield Section(t("Notes"), parts.bullets(document["notes"]))


def _conflict(document: dict[str, Any]) -> dict[str, Any]:
    reasons = [
        (row["wish"], row["about"], ", ".join(row["others"]), ", ".join(row["left"])) for row in document["reasons"]
    ]
    near = [
        Step(", ".join(f"{one['wish']} → {one['instead']}" for one in row["changes"]), row["command"])
        for row in document["nearest"]
    ]
    heads = [t("wish"), t("about"), t("the others"), t("what they leave")]
    said = t("these wishes exclude each other: {wishes}", wishes=", ".join(document["wishes"]))
    return {
        "command": f"jumar plan {' '.join(document['wishes'])}",
        "subject": ", ".join(document["wishes"]),
        "verdict": Verdict.bad(said, t("nothing fits")),
        "facts": [],
        "sections": [Section(t("Why"), parts.table(heads, reasons, name=t("reasons")), "why")],
        "steps": near,
        "points": [said],
    }
