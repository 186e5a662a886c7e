"""The page of two profiles: where the time went before and after, the kernels, the advice that came and went."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jumar.perf.result import time
from jumar.report import parts
from jumar.report.page import Page, Section, Stage, Step, Verdict
from jumar.report.pages.perf import PARTS
from jumar.report.parts import Cell, Markup
from jumar.report.words import t

KINDS = ("perf-diff",)
SAME = 0.02
"""Share of the time that counts as no change."""


def page(document: dict[str, Any]) -> Page:
    before, after = document["split_us"]
    paths = f"{document['before']} {document['after']}"
    return Page(
        "perf-diff",
        t("Is it faster now?"),
        t("{before} and {after}", before=document["before"], after=document["after"]),
        _verdict(before["total"], after["total"]),
        command=f"jumar perf diff {paths}",
        stages=[Stage.SPEED],
        facts=[(t("times"), t("modelled") if document["modelled"] else t("measured"))],
        sections=list(_sections(document)),
        steps=[Step(f"`{row['id']}` {row['name']}") for row in document["new"][:3]],
        points=[f"{row['name']}: {row['message']}" for row in document["new"][:3]],
    )


def _verdict(before: float, after: float) -> Verdict:
    said = t(
        "{before} before, {after} after: {change} per step",
        before=time(before),
        after=time(after),
        change=_change(before, after).text,
    )
    if after > before * (1 + SAME):
        return Verdict.bad(said, t("slower"))
    return Verdict.good(said, t("faster") if after < before * (1 - SAME) else t("the same"))


def _sections(document: dict[str, Any]) -> Iterator[Section]:
    before, after = document["split_us"]
    heads = [t("where"), t("before"), t("after"), t("change")]
    rows = [
        (name, _time(before[key]), _time(after[key]), _change(before[key], after[key]))
        for key, name in (("total", t("total")), *((key, t(name)) for key, (name, _) in PARTS.items()))
        if before[key] or after[key]
    ]
    yield Section(t("Time per step"), parts.table(heads, rows, numbers=(1, 2, 3), name=t("time")), "time")
    kernels = [
        (
            f"`{row['type']}`",
            _time(row["time_us"][0]),
            _time(row["time_us"][1]),
            _change(*row["time_us"]),
            f"{row['calls'][0]:,.0f} → {row['calls'][1]:,.0f}",
        )
        for row in document["kernels"]
    ]
    made = parts.table([t("kernel"), *heads[1:], t("calls")], kernels, numbers=(1, 2, 3, 4), name=t("kernels"))
    yield Section(t("Kernels, largest change first"), made, "kernels")
    for title, items in ((t("No longer advised"), document["gone"]), (t("Newly advised"), document["new"])):
        if items:
            shown = Markup("").join(
                parts.panel(row["name"], parts.bullets([row["message"]]), badge=row["id"]) for row in items
            )
            yield Section(title, shown)


def _time(value: float) -> Cell:
    return Cell(time(value), value)


def _change(old: float, new: float) -> Cell:
    if not old:
        return Cell(t("new"), 1e9)
    share = (new - old) / old
    return Cell(f"{share:+.1%}", share, "red" if share > SAME else "green" if share < -SAME else "")
