"""The page of a test suite on NPUs: outcomes, what was refused or fell back, and in which tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jumar.core.words import counted
from jumar.report import parts
from jumar.report.page import Page, Section, Stage, Step, Verdict
from jumar.report.parts import Cell, Slice
from jumar.report.words import t

KINDS = ("suite",)
HUES = {"passed": "green", "failed": "red", "skipped": "grey"}
MOST = 5
"""Tests named for a refused call."""


def page(document: dict[str, Any]) -> Page:
    outcomes, refused = document["tests"]["outcomes"], document["refusals"]
    return Page(
        "suite",
        t("Does the test suite pass on NPUs?"),
        "pytest",
        _verdict(outcomes, refused),
        command="pytest --npu --npu-report suite.json",
        stages=[Stage.RUNS],
        facts=[
            (t("where"), document["npu"]["where"].removeprefix("jumar: ")),
            (t("NPUs"), t("emulated") if document["npu"]["emulated"] else t("real")),
            (t("tests on a card"), f"{len(document['tests']['on_card']):,}"),
        ],
        sections=list(_sections(document)),
        steps=list(_steps(outcomes, refused)),
        points=[f"`{row['name']}`: {_what(row['kind'])}, {counted(len(row['tests']), 'test')}" for row in refused[:3]],
    )


def _verdict(outcomes: dict[str, int], refused: list[dict[str, Any]]) -> Verdict:
    ran = ", ".join(f"{number:,} {outcome}" for outcome, number in outcomes.items())
    hard = [row for row in refused if row["kind"] != "fallback"]
    if outcomes.get("failed"):
        return Verdict.bad(ran, t("failed"))
    if refused:
        return Verdict.warn(
            t(
                "{ran}; {refused} refused, {fallbacks} on the CPU",
                ran=ran,
                refused=len(hard),
                fallbacks=len(refused) - len(hard),
            )
        )
    return Verdict.good(ran or t("no test ran"), t("passed"))


def _what(kind: str) -> str:
    return t("ran on the CPU") if kind == "fallback" else t("refused ({kind})", kind=kind)


def _steps(outcomes: dict[str, int], refused: list[dict[str, Any]]) -> Iterator[Step]:
    if outcomes.get("failed"):
        yield Step(t("look at the tests that failed"), "pytest --npu --last-failed")
    for row in [row for row in refused if row["kind"] != "fallback"][:3]:
        yield Step(t("`{name}` was refused", name=row["name"]), f"jumar emulate coverage {row['name']}")


def _sections(document: dict[str, Any]) -> Iterator[Section]:
    outcomes = document["tests"]["outcomes"]
    yield Section(
        "", parts.bar([Slice(t(name), number, HUES.get(name, "blue")) for name, number in outcomes.items() if number])
    )
    rows = [
        (
            f"`{row['name']}`",
            Cell(_what(row["kind"]), hue="violet" if row["kind"] == "fallback" else "red"),
            f"{len(row['tests']):,}",
            _tests(row["tests"]),
        )
        for row in document["refusals"]
    ]
    if rows:
        heads = [t("function or operator"), t("what happened"), t("tests"), t("which")]
        yield Section(
            t("Refused calls and fallbacks"),
            parts.table(heads, rows, numbers=(2,), name=t("refused calls")),
            "refusals",
        )
    used = document["tests"]["on_card"]
    if used:
        title = t("{count} used a card", count=counted(len(used), "test"))
        yield Section(t("Tests on a card"), parts.fold(title, parts.bullets(used)), "cards")


def _tests(names: list[str]) -> str:
    more = f" {t('and {count} more', count=len(names) - MOST)}" if len(names) > MOST else ""
    return ", ".join(name or t("outside of tests") for name in names[:MOST]) + more
