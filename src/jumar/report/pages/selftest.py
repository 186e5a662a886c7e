"""The page of a self-test: differences by class, cases by family, what was measured, what was left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from jumar.core.words import counted
from jumar.report import parts
from jumar.report.page import Page, Section, Stage, Step, Verdict
from jumar.report.parts import Cell, Markup
from jumar.report.words import t

KINDS = ("selftest",)
CLASSES = {
    "emulator wrong": ("red", "evidence says that the card is right"),
    "device fault": ("red", "evidence says that the card, its driver or CANN is wrong"),
    "unknown": ("violet", "the evidence does not settle it"),
    "documented limit": ("grey", "known, with its source"),
}
"""Colour and meaning of each class of differences."""
STATES = ("same", "different", "skipped", "not run")
MOST = 400


def page(document: dict[str, Any]) -> Page:
    machine = document["machine"]
    name = str(machine.get("name") or t("unknown chip"))
    return Page(
        "selftest",
        t("Does what Jumar proves hold on this machine?"),
        name,
        _verdict(document),
        command="jumar selftest",
        stages=[Stage.MACHINE],
        facts=[(str(key), str(value)) for key, value in machine.items()],
        sections=list(_sections(document)),
        steps=[Step(t("some cases did not run"), "jumar selftest --resume")] if _left(document, "not run") else [],
        points=[f"{row['id']}: {row['what']}" for row in document["differences"][:3]],
        foot=t("Names, addresses and paths were taken out."),
    )


def _left(document: dict[str, Any], *states: str) -> list[dict[str, Any]]:
    return [case for case in document["cases"] if case["state"] in states]


def _verdict(document: dict[str, Any]) -> Verdict:
    wrong = [row for row in document["differences"] if row["verdict"] != "documented limit"]
    cases = counted(len(document["cases"]) - len(_left(document, "skipped", "not run")), "case")
    if wrong:
        said = t("{wrong} in {cases}", wrong=counted(len(wrong), "difference"), cases=cases)
        known = any(row["verdict"] != "unknown" for row in wrong)
        return Verdict.bad(said, t("differs")) if known else Verdict.unknown(said)
    if _left(document, "not run"):
        return Verdict.unknown(t("nothing differs in {cases}; others did not run", cases=cases))
    return Verdict.good(t("nothing differs in {cases}", cases=cases), t("holds"))


def _sections(document: dict[str, Any]) -> Iterator[Section]:
    if document["machine"].get("emulated", True):
        said = t("Nothing on this page is a fact of a real card, and no figure may be used as one.")
        yield Section("", parts.panel(t("An emulated machine"), parts.paragraph(said), hue="amber"))
    for verdict, (hue, meaning) in CLASSES.items():
        rows = [row for row in document["differences"] if row["verdict"] == verdict]
        if rows:
            yield Section(t("{verdict}: {meaning}", verdict=verdict, meaning=meaning), _differences(rows, hue))
    yield Section(t("Cases"), _families(document["cases"]), "cases")
    if document["figures"]:
        rows = [(row["name"], f"{row['value']:g}", row["unit"], f"{row['spread']:g}") for row in document["figures"]]
        heads = [t("figure"), t("value"), t("unit"), t("spread")]
        yield Section(t("Measured"), parts.table(heads, rows, numbers=[1, 3], name=t("measured")), "measured")
    noise = [case for case in document["cases"] if case["noise"]]
    if noise:
        shown = sorted(noise, key=lambda case: -float(case["noise"]))[:MOST]
        rows_ = [(f"`{case['id']}`", Cell(f"{case['noise']:.2e}", case["noise"])) for case in shown]
        heads = [t("case"), t("relative error against float64")]
        yield Section(t("Noise of operators"), parts.table(heads, rows_, numbers=[1], name=t("noise of operators")))
    left = _left(document, "skipped", "not run")[:MOST]
    if left:
        told = [(f"`{case['id']}`", t(case["state"]), case["reason"]) for case in left]
        yield Section(t("Left out"), parts.table([t("case"), t("state"), t("reason")], told, name=t("left out")))


def _differences(rows: list[dict[str, Any]], hue: str) -> Markup:
    return Markup("").join(
        parts.panel(row["what"], parts.paragraph(row["why"]), hue=hue, badge=t(row["kind"]), aside=f"`{row['id']}`")
        for row in rows
    )


def _families(cases: list[dict[str, Any]]) -> Markup:
    found: dict[str, Counter[str]] = {}
    for case in cases:
        found.setdefault(case["id"].partition("/")[0], Counter())[case["state"]] += 1
    rows = [(name, *(str(counts[state]) for state in STATES)) for name, counts in found.items()]
    return parts.table([t("family"), *map(t, STATES)], rows, numbers=[1, 2, 3, 4], name=t("cases by family"))
