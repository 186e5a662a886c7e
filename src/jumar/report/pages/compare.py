"""The page of a comparison: the first difference, the error along the operators, the curves, the operators."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from jumar.core.words import counted
from jumar.report import parts
from jumar.report.page import Page, Section, Stage, Step, Verdict
from jumar.report.parts import Cell, Markup
from jumar.report.plot import Line, Plot
from jumar.report.words import t

KINDS = ("compare",)
MOST_ROWS = 200
MOST_LINES = 50


def page(document: dict[str, Any]) -> Page:
    verdict, a, b = document["verdict"], document["a"], document["b"]
    words = f"jumar compare {a['path']} {b['path']}"
    return Page(
        "compare",
        t("Does it compute the same?"),
        t("{a} and {b}", a=a["path"], b=b["path"]),
        _verdict(verdict),
        command=words,
        stages=[Stage.NUMBERS],
        facts=list(_facts(document)),
        sections=list(_sections(document)),
        steps=list(_steps(document, words)),
        points=[verdict["message"]] if verdict["differs"] else [],
        foot=t("Errors are estimated from sketches and accurate to about 10 %."),
    )


def _verdict(said: dict[str, Any]) -> Verdict:
    if said["differs"]:
        return Verdict.bad(said["message"], t("different"))
    if said["answer"] == "INCONCLUSIVE":
        return Verdict.unknown(said["message"])
    return Verdict.good(said["message"], t("the same up to rounding"))


def _steps(document: dict[str, Any], words: str) -> Iterator[Step]:
    verdict = document["verdict"]
    if verdict["meaning"] and verdict["answer"] != "SAME":
        yield Step(verdict["meaning"])
    if verdict["differs"] and document["reproducer"]:
        yield Step(t("run only this operator"), f"{words} --reproducer reproduce.py")


def _facts(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name in ("a", "b"):
        side = document[name]
        counts = f"{counted(side['steps'], 'step')}, {counted(side['operators'], 'operator')}"
        yield name.upper(), f"{side['path']}: {side['device']}, {side['dtype']}, torch {side['torch']}, {counts}"
    floor = document["floor"]
    yield t("floor"), floor["source"]
    yield t("rounding of"), floor["precision"]
    yield t("limit"), f"{floor['limit']:g}"
    if document["a"]["ranks"] > 1:
        yield t("rank"), str(document["rank"])


def _sections(document: dict[str, Any]) -> Iterator[Section]:
    verdict = document["verdict"]
    first = [*(parts.code(line) for line in verdict["between"]), *(parts.note(line) for line in document["notes"])]
    if first:
        yield Section("", Markup("<br>").join(first))
    drawn = Markup("").join(plot.html() for plot in _plots(document))
    if drawn:
        yield Section(t("Along the run"), drawn, "curves")
    yield Section(t("Operators, the largest error over its floor first"), _operators(document), "operators")
    for name in ("a", "b"):
        lines = document[f"only_{name}"]
        if lines:
            more = [t("… and {count} more", count=len(lines) - MOST_LINES)] if len(lines) > MOST_LINES else []
            yield Section(t("Only in {side}", side=name.upper()), parts.bullets([*lines[:MOST_LINES], *more]))
    if document["environment"]:
        yield Section(t("Environment"), parts.bullets(document["environment"]))
    if document["reproducer"]:
        yield Section(t("Reproducer"), parts.pre(document["reproducer"]))


def _operators(document: dict[str, Any]) -> Markup:
    heads = [t("operator"), t("over"), t("error"), t("floor"), t("error of inputs"), t("step"), t("module"), t("line")]
    shown = document["operators"][:MOST_ROWS]
    rows = [
        (
            _title(row),
            *(_number(row[key], form) for key, form in _FIGURES),
            str(row["step"]),
            row["module"],
            row["where"],
        )
        for row in shown
    ]
    limit = document["floor"]["limit"]
    hues = ["red" if _value(row["over"]) > limit else "" for row in shown]
    made = parts.table(heads, rows, numbers=range(1, 6), name=t("operators"), hues=hues)
    left = len(document["operators"]) - len(shown)
    return made + (parts.note(t("{count} more operators are left out; `--json` has them", count=left)) if left else "")


_FIGURES = (("over", ".3g"), ("error", ".2g"), ("floor", ".2g"), ("error_in", ".2g"))


def _title(row: dict[str, Any]) -> Cell:
    name = (
        row["operator"].removesuffix(".default") if row["kind"] in ("op", "view") else f"{row['kind']} `{row['name']}`"
    )
    phase = f" ({row['phase']})" if row["phase"] != "forward" else ""
    lines = Markup("").join(Markup("<small>{}</small>").format(line) for line in row["arguments"])
    return Cell(parts.code(f"{row['id']} {name}{phase}") + lines, _place(row))


def _number(value: float | str | None, form: str) -> Cell:
    return Cell("-" if value is None else f"{_value(value):{form}}", _value(value) if value is not None else -1)


def _value(value: float | str | None) -> float:
    """JSON has no infinity: the document says it as text."""
    return math.nan if value is None else float(value)


def _place(row: dict[str, Any]) -> int:
    """The operators are numbered in the order they ran."""
    return int(row["id"].removeprefix("op"))


def _plots(document: dict[str, Any]) -> Iterator[Plot]:
    found = document["verdict"]["operator"]
    steps = [row["step"] for row in document["operators"]]
    step = found["step"] if found else min(steps, default=0)
    depth = [row for row in document["operators"] if row["step"] == step and row["kind"] != "view"]
    depth.sort(key=_place)
    marked = _mark(depth, found) if document["verdict"]["differs"] else None
    error = Plot(
        t("Error along the operators of step {step}", step=step),
        t("operators in the order they ran: forward, backward, optimizer"),
        t("relative error"),
        [Line(t("error"), "red", _points(depth, "error")), Line(t("floor"), "grey", _points(depth, "floor"), "dash")],
        logarithmic=True,
        mark=marked,
        marked=t("first difference"),
    )
    yield from (plot for plot in (error, *_curves(document)) if any(len(line.points) > 1 for line in plot.lines))


def _curves(document: dict[str, Any]) -> Iterator[Plot]:
    names = {name: f"{name} {document[name.lower()]['path']}" for name in ("A", "B")}
    for column, title in ((1, t("Loss")), (2, t("Gradient norm"))):
        lines = [
            _curve(names.get(name, ""), name, points)
            for name, rows in document["curves"].items()
            if (points := [(row[0], _value(row[column])) for row in rows if row[column] is not None])
        ]
        lines.sort(key=lambda line: ("grey", "green", "red").index(line.hue))
        yield Plot(t("{what} over the steps", what=title), t("step"), title.lower(), lines)


def _curve(shown: str, name: str, points: list[tuple[float, float]]) -> Line:
    if name == "A":
        return Line(shown, "green", points, "wide")
    return Line(shown, "red", points) if name == "B" else Line(t("base runs"), "grey", points, "dash")


def _points(rows: Sequence[dict[str, Any]], field: str) -> list[tuple[float, float]]:
    points = ((place, _value(row[field])) for place, row in enumerate(rows))
    return [(x, y) for x, y in points if math.isfinite(y)]


def _mark(depth: Sequence[dict[str, Any]], found: dict[str, Any] | None) -> int | None:
    if found is None:
        return None
    return next((place for place, row in enumerate(depth) if row["id"] == found["id"]), None)
