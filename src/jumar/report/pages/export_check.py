"""The page of a checked model: what ATC refuses, operators with their parsers, inputs and outputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jumar.core.words import counted
from jumar.report import parts
from jumar.report.page import Page, Section, Stage, Step, Verdict
from jumar.report.parts import Cell, Markup, Slice
from jumar.report.words import t

KINDS = ("export-check",)
STATES = {
    "parsed": ("green", "parsed"),
    "opset": ("amber", "not at this opset"),
    "missing": ("red", "no parser"),
    "foreign": ("violet", "another domain"),
}
LEVELS = {"error": "red", "warning": "amber", "note": "grey"}
MAX_PORTS = 200


def page(document: dict[str, Any]) -> Page:
    model, found = document["model"], document["findings"]
    return Page(
        "export-check",
        t("Ready for ATC?"),
        model["path"],
        _verdict(found),
        command=f"jumar export check {model['path']}",
        stages=[Stage.INFERENCE],
        facts=[
            (t("opset"), str(model["opset"])),
            (t("nodes"), f"{model['nodes']:,}"),
            *((t("done"), one) for one in document["done"]),
        ],
        sections=list(_sections(document)),
        steps=list(_steps(document)),
        points=[row["message"] for row in found if row["level"] == "error"][:3],
        foot=t("Operators are checked against the vendor's published list; nothing was run through a real ATC."),
    )


def _verdict(found: list[dict[str, Any]]) -> Verdict:
    errors, warnings = (sum(row["level"] == level for row in found) for level in ("error", "warning"))
    if errors:
        return Verdict.bad(t("ATC refuses this model: {errors}", errors=counted(errors, "error")), t("not yet"))
    if warnings:
        return Verdict.warn(t("no error; look at {warnings}", warnings=counted(warnings, "warning")))
    return Verdict.good(t("every node has a parser, and shapes, types and names are valid"), t("ready"))


def _steps(document: dict[str, Any]) -> Iterator[Step]:
    fixes = dict.fromkeys(row["fix"] for row in document["findings"] if row["fix"] and row["level"] != "note")
    yield from (Step(fix) for fix in list(fixes)[:3])
    if not any(row["level"] == "error" for row in document["findings"]):
        path = document["model"]["path"]
        yield Step(t("get the ATC command of this model"), f"jumar export command {path} --chip 310P3")


def _sections(document: dict[str, Any]) -> Iterator[Section]:
    model = document["model"]
    rows = model["states"]
    counts = {state: sum(row["nodes"] for row in rows if row["state"] == state) for state in STATES}
    yield Section(
        "", parts.bar([Slice(t(name), counts[state], hue) for state, (hue, name) in STATES.items() if counts[state]])
    )
    yield Section(t("Findings"), _findings(document["findings"]), "findings")
    shown = [
        (f"`{row['name']}`", f"{row['nodes']:,}", Cell(t(STATES[row["state"]][1]), hue=STATES[row["state"]][0]))
        for row in rows
    ]
    yield Section(
        t("Operators"),
        parts.table([t("operator"), t("nodes"), "ATC"], shown, numbers=(1,), name=t("operators")),
        "operators",
    )
    ports = [(kind, port) for kind in ("input", "output") for port in model[f"{kind}s"][:MAX_PORTS]]
    lines = [(t(kind), f"`{port['name']}`", port["type"], _shape(port["shape"])) for kind, port in ports]
    heads = [t("kind"), t("name"), t("type"), t("shape")]
    made = parts.table(heads, lines, name=t("inputs and outputs"))
    left = len(model["inputs"]) + len(model["outputs"]) - len(ports)
    if left:
        made += parts.note(t("{count} more inputs and outputs are left out to keep this page small", count=left))
    yield Section(t("Inputs and outputs"), made, "ports")


def _findings(found: list[dict[str, Any]]) -> Markup:
    if not found:
        return Markup("<p>{}</p>").format(
            t("Nothing to report: every node has a parser, and shapes, types and names are valid.")
        )
    return Markup("").join(
        parts.panel(row["message"], _fix(row["fix"]), hue=LEVELS[row["level"]], badge=f"{row['id']} {row['level']}")
        for row in found
    )


def _fix(text: str | None) -> Markup:
    return parts.paragraph(f"Fix: {text}") if text else Markup("")


def _shape(shape: list[Any] | None) -> str:
    return t("not known") if shape is None else ", ".join(map(str, shape)) or t("scalar")
