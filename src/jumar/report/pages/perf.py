"""The page of a profile: where the time goes, the timeline, what to change, the kernels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jumar.core.words import counted
from jumar.perf.result import time
from jumar.report import parts
from jumar.report.page import Page, Section, Stage, Step, Verdict
from jumar.report.parts import Cell, Markup, Slice
from jumar.report.plot import Line, Plot
from jumar.report.words import t

KINDS = ("perf",)
PARTS = {
    "computing": ("computing", "blue"),
    "communication": ("communication, not hidden", "violet"),
    "host": ("idle: waiting for the host", "amber"),
    "data": ("idle: waiting for a batch", "green"),
    "unknown": ("idle: the profile does not say why", "grey"),
}
LANES = {
    "cube": ("cube", "blue"),
    "vector": ("vector", "teal"),
    "aicpu": ("AI CPU", "red"),
    "wait": ("the host waits", "red"),
    "communication": ("communication", "violet"),
    "host": ("host dispatch", "amber"),
    "data": ("batch", "green"),
    "computing": ("computing", "blue"),
}
MAX_RANKS = 16
MAX_ADVICE = 200
POINTS = 3
MEMORY_POINTS = 3
"""Fewer make no course."""
IDLE = 0.2
"""Share of idle time that is worth a word when there is no advice."""


def page(document: dict[str, Any]) -> Page:
    advice, path = document["advice"], document["path"]
    return Page(
        "perf",
        t("Where the time goes"),
        path,
        _verdict(document),
        command=f"jumar perf read {path}",
        stages=[Stage.SPEED],
        facts=list(_facts(document)),
        sections=list(_sections(document)),
        steps=[_step(row) for row in advice[:POINTS]],
        points=[f"{row['where'] + ': ' if row['where'] else ''}{row['message']}" for row in advice[:POINTS]],
        shows_steps=False,
        foot=t("Estimates are marked as such; this tool measured none of them on an NPU."),
    )


def _step(row: dict[str, Any]) -> Step:
    change = f": {row['change'][0]}" if row["change"] else ""
    return Step(_said(row) + change, f"jumar explain {row['id']}")


def _said(row: dict[str, Any]) -> str:
    saved = f", {t('saves about')} {time(row['saved_us'])}" if row["saved_us"] else ""
    return f"`{row['id']}` {row['name']}{saved}"


def _verdict(document: dict[str, Any]) -> Verdict:
    ranks, advice = document["ranks"], document["advice"]
    worst = max((_idle(rank["split_us"]) for rank in ranks), default=0.0)
    busy = t("the card is idle {share} of the time", share=f"{worst:.0%}")
    if advice:
        first = _said(advice[0])
        things = counted(len(advice), "thing")
        return Verdict.warn(
            t("{busy}; {things} to change, first {first}", busy=busy, things=things, first=first), t("can be faster")
        )
    if worst >= IDLE:
        return Verdict.unknown(f"{busy}; {t('the profile does not say why')}")
    return Verdict.good(t("nothing found that would save time"), t("no advice"))


def _idle(split: dict[str, float]) -> float:
    return (split["host"] + split["data"] + split["unknown"]) / split["total"] if split["total"] else 0.0


def _facts(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    ranks = document["ranks"]
    yield t("ranks"), str(len(ranks))
    yield t("chip"), ", ".join(sorted({rank["chip"] for rank in ranks if rank["chip"]})) or t("not known")
    yield t("times"), t("modelled") if document["modelled"] else t("measured")


def _sections(document: dict[str, Any]) -> Iterator[Section]:
    if document["modelled"]:
        told = parts.panel(t("Modelled, not measured"), parts.bullets([document["modelled"]]), hue="amber")
        yield Section("", told)
    if document["notes"]:
        yield Section("", Markup("").join(parts.note(text) for text in document["notes"]))
    ranks = document["ranks"]
    for rank in ranks[:MAX_RANKS]:
        yield Section(_title(rank), _split(rank) + _picture(rank) + _memory(rank))
    if len(ranks) > MAX_RANKS:
        said = t(
            "{count} more ranks are left out to keep this page small; `--json` has them", count=len(ranks) - MAX_RANKS
        )
        yield Section("", parts.note(said))
    yield Section(t("What to change, most time saved first"), _advice(document), "advice")
    for rank in ranks[:1]:
        yield Section(t("Kernels of rank {rank}, longest first", rank=rank["rank"]), _kernels(rank), "kernels")


def _title(rank: dict[str, Any]) -> str:
    steps = f", {counted(rank['steps'], 'step')}" if rank["steps"] else ""
    return f"{t('Rank')} {rank['rank']}: {time(rank['split_us']['total'])}{steps}, {counted(rank['kernels'], 'kernel')}"


def _split(rank: dict[str, Any]) -> Markup:
    split = rank["split_us"]
    whole = split["total"] or 1.0
    found = [
        Slice(t(name), split[key], hue, f"{time(split[key])} ({split[key] / whole:.1%})")
        for key, (name, hue) in PARTS.items()
        if split[key]
    ]
    more = [f"{t('communication, hidden')}: {time(split['overlapped'])}"] if split["overlapped"] else []
    memory = rank["memory_mb"]
    if memory:
        peak, reserved = (f"{memory[key]:,.0f} MB" for key in ("allocated", "reserved"))
        more.append(t("memory: {peak} peak in tensors, {reserved} reserved", peak=peak, reserved=reserved))
    return parts.bar(found, more=[*more, *(f"{name}: {text}" for name, text in rank.get("further", []))])


def _memory(rank: dict[str, Any]) -> Markup:
    """Tensors and what the allocator holds, over the time of the profile."""
    rows = rank["memory_over_time"]
    if len(rows) < MEMORY_POINTS:
        return Markup("")
    lines = [
        Line(t(name), hue, [(row["us"] / 1e3, row[key]) for row in rows], style)
        for key, name, hue, style in (
            ("reserved_mb", "reserved", "grey", "dash"),
            ("allocated_mb", "in tensors", "blue", ""),
        )
    ]
    return Plot(t("Memory over time"), t("time, ms"), t("memory, MB"), lines).html()


def _picture(rank: dict[str, Any]) -> Markup:
    """The timeline of one step; only a page that is made from the profile itself has it."""
    drawn = rank.get("picture")
    if not drawn or drawn["to"] <= drawn["from"]:
        return Markup("")
    low, high = drawn["from"], drawn["to"]
    lanes = Markup("").join(_lane(name, stretches, low, high) for name, stretches in drawn["lanes"])
    marks = Markup("").join(
        Markup('<span class="{}" style="left:{:.0f}%">{}</span>').format(
            {0: "start", 1: "end", 0.5: ""}.get(share, "odd"), 100 * share, time((high - low) * share)
        )
        for share in (0.0, 0.25, 0.5, 0.75, 1.0)
    )
    axis = Markup('<div class="lane chart"><span></span><div class="xs">{}</div></div>').format(marks)
    kinds = {kind for _, stretches in drawn["lanes"] for _, _, kind, _ in stretches}
    names: dict[str, list[str]] = {}
    for kind, (name, hue) in LANES.items():
        if kind in kinds:
            names.setdefault(hue, []).append(t(name))
    keys = parts.legend([(hue, ", ".join(found)) for hue, found in names.items()])
    return parts.figure(t("Timeline of one step; point at a bar for its name"), lanes + axis + keys)


def _lane(name: str, stretches: list[tuple[float, float, str, str]], low: float, high: float) -> Markup:
    scale = 1000 / (high - low)
    shown = Markup("").join(
        Markup('<rect class="c-{}" x="{:.2f}" y="0" width="{:.2f}" height="10"><title>{}: {}</title></rect>').format(
            LANES.get(kind, ("", "grey"))[1],
            (start - low) * scale,
            max(0.4, (end - start) * scale),
            label[:200],
            time(end - start),
        )
        for start, end, kind, label in stretches
    )
    return Markup(
        '<div class="lane"><span>{}</span><svg viewBox="0 0 1000 10" preserveAspectRatio="none" role="img"'
        ' aria-label="{}">{}</svg></div>'
    ).format(name, name, shown)


def _advice(document: dict[str, Any]) -> Markup:
    rows = document["advice"]
    if not rows:
        return parts.paragraph(document.get("no_advice") or _verdict(document).text)
    many = len(document["ranks"]) > 1
    total = max((rank["split_us"]["total"] for rank in document["ranks"]), default=0.0)
    shown = [_one(row, total, many) for row in rows[:MAX_ADVICE]]
    if len(rows) > MAX_ADVICE:
        shown.append(parts.note(t("{count} more are left out; `--json` has them", count=len(rows) - MAX_ADVICE)))
    return Markup("").join(shown)


def _one(row: dict[str, Any], total: float, many: bool) -> Markup:
    share = f", {row['saved_us'] / total:.1%}" if total else ""
    gain = f"{time(row['saved_us'])}{share} ({row['basis']})" if row["saved_us"] else t("saving unknown")
    told = list(row["evidence"])
    if many and row["ranks"]:
        told.append(_ranks(row))
    where = f" `{row['where']}`" if row["where"] else ""
    body = Markup("<p>{}</p>{}{}").format(
        parts.code(row["message"]), parts.bullets(told), parts.pre("\n".join(row["change"])) if row["change"] else ""
    )
    return parts.panel(f"{row['name']}{where}", body, hue="amber", badge=row["id"], aside=gain)


def _ranks(row: dict[str, Any]) -> str:
    most = row["figures_of_rank"]
    figures = t("; the figures are those of rank {rank}", rank=most) if most is not None else ""
    return t("on rank {ranks}", ranks=", ".join(map(str, row["ranks"]))) + figures


def _kernels(rank: dict[str, Any]) -> Markup:
    whole = rank["split_us"]["total"] or 1.0
    rows = [
        (
            f"`{row['type']}`",
            row["core"] or "",
            f"{row['calls']:,}",
            Cell(time(row["time_us"]), row["time_us"]),
            f"{row['time_us'] / whole:.1%}",
        )
        for row in rank["operators"]
    ]
    heads = [t("type"), t("runs on"), t("calls"), t("time"), t("share")]
    return parts.table(heads, rows, numbers=(2, 3, 4), name=t("kernels"))
