"""The page of a parallel plan: memory of each stage, time against memory, the plans, their proofs, the code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jumar.report import parts
from jumar.report.page import Page, Section, Stage, Step, Verdict
from jumar.report.parts import Markup
from jumar.report.plot import Line, Plot
from jumar.report.words import t, translate

KINDS = ("parallel",)
GIB, MIB = 1 << 30, 1 << 20
MEMORY = {
    "weights": ("blue", "parameters"),
    "gradients": ("amber", "gradients, also accumulated ones, until the optimizer runs"),
    "optimizer": ("green", "optimizer state"),
    "activations": ("red", "what the backward pass needs, and the current layer"),
    "copies": ("violet", "cast or gathered copies of weights"),
    "buffers": ("grey", "inputs and constants"),
}


def page(document: dict[str, Any]) -> Page:
    best, name = document["plans"][0], document["model"]["name"]
    cards = document["cards"]
    return Page(
        "parallel",
        t("Which plan fits on these cards?"),
        t("{model} on {cards} cards", model=name, cards=cards),
        _verdict(document),
        command=f"jumar parallel {name} --cards {cards}",
        stages=[Stage.SCALE],
        facts=[
            (t("chip"), document["chip"]),
            (t("cards"), str(cards)),
            (t("usable"), f"{_gib(document['usable_bytes'])} GiB"),
            (t("plans examined"), f"{document['plans_looked_at']:,}"),
        ],
        sections=list(_sections(document, best)),
        steps=list(_steps(document)) if document["fits"] else [],
        points=[_fullest(best, document)],
        foot=_times(document.get("times")),
    )


def _times(bar: dict[str, Any] | None) -> str:
    """A document of an earlier version compares times with nothing."""
    if bar is None:
        return t("Times are modelled; no run on such a chip was compared with them.")
    span = f"{bar['lowest']:.2f} – {bar['highest']:.2f}"
    return t("Times are modelled; {runs} published runs took {span} times as long.", runs=str(bar["runs"]), span=span)


def _steps(document: dict[str, Any]) -> Iterator[Step]:
    """A document of an earlier version has the launch line alone."""
    for row in document.get("commands", [{"title": "start it", "command": document["launch"]}]):
        yield Step(t(row["title"]), row["command"])


def _verdict(document: dict[str, Any]) -> Verdict:
    best = document["plans"][0]
    said = _fullest(best, document)
    if document["fits"]:
        return Verdict.good(f"{said}, {best['step_seconds'] * 1e3:,.0f} ms {t('per step (modelled)')}", t("fits"))
    fewest = document["fewest_cards"]
    more = t("; it takes {cards} cards", cards=fewest) if fewest else ""
    return Verdict.bad(said + more, t("does not fit"))


def _fullest(best: dict[str, Any], document: dict[str, Any]) -> str:
    return t(
        "`{plan}` needs {peak} of {usable} GiB on the fullest card",
        plan=best["name"],
        peak=_gib(best["peak_bytes"]),
        usable=_gib(document["usable_bytes"]),
    )


def _sections(document: dict[str, Any], best: dict[str, Any]) -> Iterator[Section]:
    if document["head"]:
        yield Section("", parts.bullets(document["head"]))
    yield Section(t("Memory of each rank: {plan}", plan=best["name"]), _memory(document, best), "memory")
    if len(document["front"]) > 1:
        yield Section(t("Time against memory"), _front(document["front"]).html(), "front")
    yield Section(t("Plans"), _plans(document["plans"]), "plans")
    for title, sentences in document["answers"].items():
        yield Section(title, parts.bullets(sentences))
    for proof in document["proofs"]:
        yield _proof(proof)
    rows = [
        (name, f"{row['value']} {row['unit']}", t(row["confidence"]), row["source"])
        for name, row in sorted(document["constants"].items())
    ]
    yield Section(
        t("Constants"),
        parts.table([t("name"), t("value"), t("confidence"), t("source")], rows, name=t("constants")),
        "constants",
    )
    codes = Markup("").join(
        Markup("<h3>{}</h3>{}").format(t(row["title"]), parts.pre(row["text"])) for row in document["code"]
    )
    if codes:
        yield Section(t("Code"), codes, "code")


def _memory(document: dict[str, Any], best: dict[str, Any]) -> Markup:
    most = max([document["usable_bytes"], *(stage["total"] for stage in best["stages"])])
    cards = best["dp"] * best["tp"]
    limit = 100 * document["usable_bytes"] / most
    shown = Markup("").join(
        Markup(
            '<div class="stack"><p>{}</p><div class="room">{}<span class="limit" style="left:{:.2f}%"></span></div>'
            "</div>"
        ).format(
            t(
                "stage {stage}, ranks {first} to {last}: {total} GiB",
                stage=number,
                first=number * cards,
                last=(number + 1) * cards - 1,
                total=_gib(stage["total"]),
            ),
            _stack(stage, most),
            limit,
        )
        for number, stage in enumerate(best["stages"])
    )
    keys = parts.legend(
        [(hue, f"{kind}: {meaning}") for kind, (hue, meaning) in MEMORY.items()],
        [t("dashed line: {usable} GiB usable", usable=_gib(document["usable_bytes"]))],
    )
    return parts.figure(t("GiB on a card, by what it holds"), shown + keys)


def _stack(stage: dict[str, Any], most: int) -> Markup:
    parts_ = Markup("").join(
        Markup('<i class="c-{}" style="flex:{}" title="{}: {} GiB"></i>').format(
            hue, stage[kind], t(kind), _gib(stage[kind])
        )
        for kind, (hue, _) in MEMORY.items()
        if stage[kind]
    )
    said = ", ".join(f"{translate(kind)} {_gib(stage[kind])} GiB" for kind in MEMORY if stage[kind])
    return Markup('<div class="bar" role="img" aria-label="{}" style="width:{:.2f}%">{}</div>').format(
        said, 100 * stage["total"] / most, parts_
    )


def _front(items: list[dict[str, Any]]) -> Plot:
    names = [f"{row['name']}: {row['step_seconds'] * 1e3:,.0f} ms, {_gib(row['peak_bytes'])} GiB" for row in items]
    points = [(row["step_seconds"] * 1e3, row["peak_bytes"] / GIB) for row in items]
    return Plot(
        t("Plans that no other beats in both"),
        t("modelled step, ms"),
        t("peak, GiB"),
        [Line(t("plans"), "blue", points)],
        dots=names,
    )


def _plans(plans: list[dict[str, Any]]) -> Markup:
    heads = [t("plan"), t("step, ms"), t("peak, GiB"), t("fits"), t("layers of each stage")]
    rows = [
        (
            row["name"],
            f"{row['step_seconds'] * 1e3:.0f}",
            _gib(row["peak_bytes"]),
            t("yes") if row["fits"] else t("no"),
            ", ".join(map(str, row["layers"])),
        )
        for row in plans
    ]
    return parts.table(heads, rows, numbers=(1, 2), name=t("plans"))


def _proof(proof: dict[str, Any]) -> Section:
    compiled = proof["by"] == "compiler"
    title = (
        t("Proof of {plan} by MindSpore's compiler", plan=proof["plan"])
        if compiled
        else t("Proof of {plan} by a dry run", plan=proof["plan"])
    )
    heads = [
        t("layers"),
        t("stage"),
        t("predicted, MiB"),
        t("compiled, MiB") if compiled else t("measured, MiB"),
        t("error"),
    ]
    rows = [
        (
            f"{row['layers'] or sum(proof['layers'])}{' (extended)' if row['extended'] else ''}",
            str(row["stage"]),
            f"{row['predicted'] // MIB:,}",
            f"{row['compiled'] // MIB:,}",
            f"{100 * row['error']:+.1f} %",
        )
        for row in proof["stages"]
    ]
    told = parts.paragraph(proof["what"]) if proof["what"] else Markup("")
    return Section(title, told + parts.table(heads, rows, numbers=range(1, 5), name=title))


def _gib(size: float) -> str:
    return f"{size / GIB:.1f}"
