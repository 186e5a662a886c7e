"""The page of a ladder: the rungs that a program climbed, and what to do at the one that failed."""

from __future__ import annotations

from typing import Any

from jumar.core.words import counted
from jumar.report import parts
from jumar.report.page import Page, Section, Stage, Step, Verdict
from jumar.report.parts import Cell
from jumar.report.words import t

KINDS = ("ladder",)
HUES = {"passed": "green", "failed": "red", "skipped": "grey", "told": "blue"}


def page(document: dict[str, Any]) -> Page:
    rungs = document["rungs"]
    failed = [row for row in rungs if row["state"] == "failed"]
    rows = [(t(row["name"]), Cell(t(row["state"]), hue=HUES[row["state"]]), row["message"]) for row in rungs]
    return Page(
        "ladder",
        t("How far does the program climb?"),
        counted(len(rungs), "rung"),
        _verdict(rungs, failed),
        command="jumar compare ladder",
        stages=[Stage.NUMBERS],
        sections=[
            Section(t("Rungs"), parts.table([t("rung"), t("state"), t("what it saw")], rows, name=t("rungs")), "rungs")
        ],
        steps=[Step(row["advice"]) for row in failed if row["advice"]],
        points=[row["message"] for row in failed],
    )


def _verdict(rungs: list[dict[str, Any]], failed: list[dict[str, Any]]) -> Verdict:
    if failed:
        return Verdict.bad(f"{failed[0]['name']}: {failed[0]['message']}", t("stopped"))
    passed, skipped = (sum(row["state"] == state for row in rungs) for state in ("passed", "skipped"))
    if skipped:
        said = t("{passed} passed, {skipped} skipped", passed=counted(passed, "rung"), skipped=skipped)
        return Verdict.unknown(said, t("not all"))
    return Verdict.good(t("{count} passed", count=counted(passed, "rung")), t("climbed"))
