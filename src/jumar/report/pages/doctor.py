"""The page of a checked machine: what is wrong with its fixes, and what every check said."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jumar.core.words import counted
from jumar.report import parts
from jumar.report.page import Page, Section, Stage, Step, Verdict
from jumar.report.parts import Cell, Markup, Slice
from jumar.report.words import t, translate

KINDS = ("doctor",)
HUES = {"ok": "green", "note": "blue", "unknown": "violet", "warning": "amber", "error": "red", "skipped": "grey"}
WORST = ("error", "warning", "unknown", "note", "ok", "skipped")


def page(document: dict[str, Any]) -> Page:
    machine, found = document["machine"], _findings(document)
    wrong = [row for row in found if row["level"] != "note"]
    return Page(
        "doctor",
        t("Is this machine right?"),
        machine["name"],
        _verdict(document["summary"]),
        command="jumar doctor",
        stages=[Stage.MACHINE],
        facts=[(t("NPUs"), t("emulated"))] if machine["emulated"] else [],
        sections=list(_sections(document, found)),
        steps=[Step(row["message"], row["fix"] or f"jumar explain {row['id']}") for row in wrong],
        shows_steps=False,
        points=[row["message"] for row in wrong[:3]],
        foot=t("`jumar explain ID` tells more about a check."),
    )


def _verdict(summary: dict[str, Any]) -> Verdict:
    checks = counted(sum(summary[status] for status in HUES), "check")
    if summary["error"]:
        return Verdict.bad(
            t("{errors} in {checks}", errors=counted(summary["error"], "error"), checks=checks), t("not right")
        )
    if summary["warning"]:
        return Verdict.warn(t("{warnings} in {checks}", warnings=counted(summary["warning"], "warning"), checks=checks))
    if summary["unknown"]:
        return Verdict.unknown(t("{count} of {checks} could not tell", count=summary["unknown"], checks=checks))
    return Verdict.good(
        t(
            "nothing is wrong: {checks}, {skipped} do not concern this machine",
            checks=checks,
            skipped=summary["skipped"],
        ),
        t("right"),
    )


def _findings(document: dict[str, Any]) -> list[dict[str, Any]]:
    found = [row for check in document["checks"] for row in check["findings"]]
    return sorted(found, key=lambda row: ("error", "warning", "note").index(row["level"]))


def _sections(document: dict[str, Any], found: list[dict[str, Any]]) -> Iterator[Section]:
    summary = document["summary"]
    yield Section(
        "", parts.bar([Slice(t(status), summary[status], HUES[status]) for status in WORST if summary[status]])
    )
    if found:
        shown = Markup("").join(
            parts.panel(
                row["message"],
                parts.pre(translate(row["fix"])) if row["fix"] else Markup(""),
                hue=HUES[row["level"]],
                badge=f"{row['id']} {row['level']}",
            )
            for row in found
        )
        yield Section(t("What to do"), shown, "findings")
    rows = [
        (
            f"`{row['id']}`",
            row["name"],
            Cell(t(row["status"]), WORST.index(row["status"]), HUES[row["status"]]),
            _told(row),
        )
        for row in document["checks"]
    ]
    heads = [t("id"), t("check"), t("status"), t("what it saw")]
    yield Section(t("Checks"), parts.table(heads, rows, name=t("checks")), "checks")


def _told(row: dict[str, Any]) -> Markup:
    facts = Markup("").join(Markup("<small>{}</small>").format(parts.code(fact)) for fact in row["facts"])
    return parts.code(t(row["told"])) + facts
