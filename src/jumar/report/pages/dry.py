"""The page of a dry run: memory over a step by owner, who holds the peak, collectives, the modelled step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jumar.core.compat import zip
from jumar.report import parts
from jumar.report.dry import GIB, seconds, size
from jumar.report.page import Page, Section, Stage, Step, Verdict
from jumar.report.parts import Cell, Markup, Slice
from jumar.report.plot import Line, Plot
from jumar.report.words import t

KINDS = ("dry",)
HUES = {
    "parameters": "blue", "gradients": "amber", "optimizer state": "green", "gathered parameters": "teal",
    "activations": "red", "backward temporaries": "violet",
}  # fmt: skip
"""Of the owners; others are grey."""
ROWS = 30


def page(document: dict[str, Any]) -> Page:
    ranks = document["ranks"]
    return Page(
        "dry",
        t("What would this program need on its cards?"),
        document["program"],
        _verdict(ranks),
        command=f"jumar run --dry --world {document['world']} {document['program']}",
        stages=[Stage.RUNS, Stage.SCALE],
        facts=[(t("cards"), str(document["world"])), (t("ranks played"), str(len(ranks)))],
        sections=[section for rank in ranks for section in _rank(rank, many=len(ranks) > 1)],
        steps=[
            Step(t("{what}: up to {gain} less", what=hint["what"], gain=size(hint["gain"])))
            for hint in (_fullest(ranks) or {"hints": []})["hints"][:3]
        ],
        points=[_said(rank) for rank in ranks if rank["memory"]],
        foot="\n".join(document["limits"]),
    )


def _fullest(ranks: list[dict[str, Any]]) -> dict[str, Any] | None:
    used = [rank for rank in ranks if rank["memory"]]
    return max(used, key=lambda rank: int(rank["memory"]["reserved"]), default=None)


def _said(rank: dict[str, Any]) -> str:
    memory = rank["memory"]
    return t(
        "rank {rank}: peak {peak} of {capacity}", rank=rank["rank"], peak=size(memory["peak"]),
        capacity=size(rank["capacity"]),
    )  # fmt: skip


def _verdict(ranks: list[dict[str, Any]]) -> Verdict:
    worst = _fullest(ranks)
    if worst is None and not all(rank["fits"] for rank in ranks):
        return Verdict.bad(t("nothing was allocated: the first request does not fit"), t("does not fit"))
    if any(rank["exit"] and not rank["memory"] for rank in ranks) or worst is None:
        return Verdict.unknown(t("no memory of a card was used"))
    if not all(rank["fits"] for rank in ranks):
        return Verdict.bad(_said(worst), t("does not fit"))
    if any(rank["exit"] for rank in ranks):
        return Verdict.unknown(t("the program did not end well: {said}", said=_said(worst)))
    return Verdict.good(_said(worst), t("fits"))


def _rank(rank: dict[str, Any], *, many: bool) -> Iterator[Section]:
    of_rank = t(", rank {rank}", rank=rank["rank"]) if many else ""
    if rank["memory"]:
        yield Section(t("Memory") + of_rank, _memory(rank), f"memory-{rank['rank']}")
        yield Section(t("Who holds the peak") + of_rank, _holders(rank["memory"]))
    if rank["collectives"]:
        yield Section(t("Collectives of a step") + of_rank, _collectives(rank["collectives"]))
    assumed = list(_assumed(rank))
    if assumed:
        yield Section(t("What was assumed") + of_rank, parts.bullets(assumed))


def _memory(rank: dict[str, Any]) -> Markup:
    memory, step = rank["memory"], rank["step"]
    owners = [
        Slice(t(name), held, HUES.get(name, "grey"), size(held)) for name, held in memory["owners"].items() if held
    ]
    lost = max(0, memory["reserved"] - memory["peak"])
    told = t(
        "Reached in the {phase} of step {step} by `{operator}` at `{site}`. {reserved} are reserved, {lost} of them "
        "unused at the peak; HCCL takes {hccl} (modelled).",
        phase=memory["phase"], step=memory["step"] + 1, operator=memory["operator"], site=memory["site"] or "?",
        reserved=size(memory["reserved"]), lost=size(lost), hccl=size(rank["hccl_bytes"]),
    )  # fmt: skip
    body = parts.bar(owners) + parts.paragraph(told) + _picture(memory)
    return body + parts.paragraph(_time(step)) if step else body


def _picture(memory: dict[str, Any]) -> Markup:
    """The owners over the last step, one above the other."""
    lines, below = [], [0] * max(map(len, memory["picture"].values()), default=0)
    for name, row in memory["picture"].items():
        below = [low + value for low, value in zip(below, row, strict=True)]
        lines.append(Line(t(name), HUES.get(name, "grey"), [(at, value / GIB) for at, value in enumerate(below)]))
    if not lines:
        return Markup("")
    return Plot(t("Memory over the last step, owners added up"), t("moment"), "GiB", lines).html()


def _time(step: dict[str, Any]) -> str:
    return t(
        "A step takes {total} (modelled, {low} to {high}): kernels {compute}, host {host}, collectives {exposed} "
        "waited for and {hidden} beside the kernels; {flops} TFLOP, MFU {mfu} %.",
        **{name: seconds(step[name]) for name in ("total", "low", "high", "compute", "host", "exposed", "hidden")},
        flops=f"{step['operations'] / 1e12:.2f}", mfu=f"{100 * step['mfu']:.0f}",
    )  # fmt: skip


def _holders(memory: dict[str, Any]) -> Markup:
    rows = [
        (Cell(size(row["bytes"]), row["bytes"]), t(row["owner"]), f"`{row['module']}`" if row["module"] else "",
         f"`{row['op']}`", str(row["tensors"]))
        for row in memory["holders"][:ROWS]
    ]  # fmt: skip
    heads = [t("memory"), t("owner"), t("module"), t("operator"), t("tensors")]
    return parts.table(heads, rows, numbers=[0, 4], name=t("Who holds the peak"))


def _collectives(links: list[dict[str, Any]]) -> Markup:
    rows = [
        (row["name"], row["group"], str(row["calls"]), Cell(size(row["bytes"]), row["bytes"]),
         Cell(seconds(row["seconds"]), row["seconds"]), t("waited for") if row["waits"] else t("beside the kernels"),
         f"`{row['site']}`" if row["site"] else "")
        for row in links
    ]  # fmt: skip
    heads = [t("collective"), t("ranks"), t("calls"), t("each"), t("modelled"), t("when"), t("place")]
    return parts.table(heads, rows, numbers=[2, 3, 4], name=t("Collectives of a step"))


def _assumed(rank: dict[str, Any]) -> Iterator[str]:
    for row in rank["looks"]:
        yield t(
            "value not computed: `{operation}` at `{site}`, {calls} times, answered {answer}",
            operation=row["operation"], site=row["site"] or "?", calls=row["calls"], answer=f"{row['answer']:g}",
        )  # fmt: skip
    for name, calls in rank["computed"].items():
        yield t("computed, because it has no shape function: `{name}`, {calls} times", name=name, calls=calls)
    for name, batches in rank.get("loaders", {}).items():
        yield t("data loader repeats one sample: {name}, {calls} times", name=name, calls=batches)
    for name, calls in rank["assumed"].items():
        yield t("answered for absent ranks: {name}, {calls} times", name=name, calls=calls)
