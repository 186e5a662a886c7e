"""The page of the first inf or nan of each rank."""

from __future__ import annotations

from typing import Any

from jumar.core.words import counted
from jumar.report import parts
from jumar.report.page import Page, Section, Stage, Step, Verdict
from jumar.report.words import t

KINDS = ("overflow",)


def page(document: dict[str, Any]) -> Page:
    rows = document["overflows"]
    heads = [t("rank"), t("step"), t("operator"), t("module"), t("line"), "nan", "inf", t("largest input")]
    shown = [
        (
            str(row["rank"]),
            str(row["step"]),
            f"`{row['operator']}` ({row['phase']})",
            row["module"],
            row["where"],
            f"{row['nan']:,}",
            f"{row['inf']:,}",
            str(row["largest_input"]),
        )
        for row in rows
    ]
    table = parts.table(heads, shown, numbers=(0, 1, 5, 6, 7), name=t("overflows"))
    return Page(
        "overflow",
        t("Where does inf or nan begin?"),
        counted(len(rows), "rank"),
        _verdict(rows),
        command="jumar compare overflow",
        stages=[Stage.NUMBERS],
        sections=[Section(t("First operator of each rank"), table, "overflows")] if rows else [],
        steps=[Step(t("look at this operator first, on the rank where it came first"))] if rows else [],
        points=[_said(row) for row in rows[:3]],
    )


def _said(row: dict[str, Any]) -> str:
    place = " ".join(part for part in (row["module"], row["where"]) if part)
    return t(
        "rank {rank}, step {step}: `{operator}` {place}",
        rank=row["rank"],
        step=row["step"],
        operator=row["operator"],
        place=place,
    )


def _verdict(rows: list[dict[str, Any]]) -> Verdict:
    if rows:
        return Verdict.bad(_said(rows[0]), t("overflow"))
    return Verdict.good(t("no operator makes inf or nan in the recorded steps"), t("finite"))
