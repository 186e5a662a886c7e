"""Profiles as lines for a terminal and as JSON; `jumar perf` prints them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from jumar.core.compat import zip
from jumar.core.lang import pad, t
from jumar.core.words import counted
from jumar.perf.result import Advice, Difference, RankReport, Report, Split, time

if TYPE_CHECKING:
    from jumar.report.page import Page

VERSION = 1
PARTS = {
    "computing": "computing",
    "communication": "communication, not hidden",
    "host": "idle: waiting for the host",
    "data": "idle: waiting for a batch",
    "unknown": "idle: the profile does not say why",
}
"""Fields of a split that make up the whole."""
_BAR = 30
_BLOCKS = "▁▂▃▄▅▆▇█"
_RANKS = 8
_MUCH = 0.2
"""Share of idle time that needs an explanation."""


def lines(report: Report, *, top: int) -> Iterator[str]:
    """Where the time goes, what to change, most time first."""
    if report.modelled:
        yield f"note: {report.modelled}"
    for text in _notes(report):
        yield f"note: {text}"
    for rank in report.ranks[:_RANKS]:
        yield from _rank(rank)
    if len(report.ranks) > _RANKS:
        yield f"… and {len(report.ranks) - _RANKS} more ranks; `--json` and `--html` have them all"
    yield ""
    if not report.advice:
        yield no_advice(report)
        return
    yield "what to change, most time saved first:"
    total = max((rank.split.total for rank in report.ranks), default=0.0)
    for number, item in enumerate(report.advice[:top], 1):
        yield from _advice(number, item, total, len(report.ranks))
    if len(report.advice) > top:
        yield f"… and {len(report.advice) - top} more; `--top {len(report.advice)}` shows them"


def no_advice(report: Report) -> str:
    """Nothing found is good news only where the card is busy."""
    worst = max(report.ranks, key=lambda rank: _idle(rank.split), default=None)
    if worst is None or _idle(worst.split) < _MUCH:
        return "no advice: nothing found that would save time"
    return (
        f"no advice: rank {worst.rank} is idle {_idle(worst.split):.0%} of the time, and the profile does not say"
        " why: profile whole steps, with the host's activity and `with_stack=True`"
    )


def _idle(split: Split) -> float:
    return (split.host + split.data + split.unknown) / split.total if split.total else 0.0


def diff_lines(found: Difference, *, top: int) -> Iterator[str]:
    before, after = found.split
    if found.before.modelled or found.after.modelled:
        yield "note: device times of at least one side are modelled, not measured"
    unit = "per step" if max(found.steps) > 1 else "in all"
    yield f"{pad(t(unit), 36)}{_heads()}"
    for name in ("total", *PARTS):
        old, new = getattr(before, name), getattr(after, name)
        if old or new:
            yield f"{pad(t(PARTS.get(name, name)), 36)} {time(old):>12} {time(new):>12} {_change(old, new)}"
    yield ""
    yield f"{pad(t('kernels, largest change first'), 36)}{_heads()}   {t('calls')}"
    for row in found.kernels[:top]:
        old, new = row.time
        calls = f"{row.calls[0]:,.0f} -> {row.calls[1]:,.0f}"
        yield f"{row.type[:36]:<36} {time(old):>12} {time(new):>12} {_change(old, new)}   {calls}"
    for title, items in (("no longer advised", found.gone), ("newly advised", found.new)):
        if items:
            yield ""
            yield f"{title}:"
            yield from (f"  {item.id} {item.name}: {item.message}" for item in items[:top])


def _heads() -> str:
    return "".join(f" {pad(t(word), 12, right=True)}" for word in ("before", "after", "change"))


def document(report: Report) -> dict[str, Any]:
    """The one JSON shape."""
    return {
        "version": VERSION,
        "kind": "perf",
        "path": report.path,
        "modelled": report.modelled or None,
        "notes": list(_notes(report)),
        "ranks": [_rank_json(rank) for rank in report.ranks],
        "advice": [advice_json(item) for item in report.advice],
    }


def page(report: Report) -> Page:
    """The page of a profile; beside the document it shows the timeline and a few more figures."""
    from jumar.report.pages import perf

    whole = document(report) | {"no_advice": no_advice(report)}
    for rank, row in zip(report.ranks, whole["ranks"], strict=True):
        lanes = [(lane.name, lane.parts) for lane in rank.lanes]
        row |= {
            "picture": {"from": rank.window[0], "to": rank.window[1], "lanes": lanes},
            "further": list(further(rank)),
        }
    return perf.page(whole)


def diff_document(found: Difference) -> dict[str, Any]:
    return {
        "version": VERSION,
        "kind": "perf-diff",
        "before": found.before.path,
        "after": found.after.path,
        "modelled": found.before.modelled or found.after.modelled or None,
        "steps": list(found.steps),
        "split_us": [_split_json(split) for split in found.split],
        "kernels": [{"type": row.type, "calls": list(row.calls), "time_us": list(row.time)} for row in found.kernels],
        "gone": [advice_json(item) for item in found.gone],
        "new": [advice_json(item) for item in found.new],
    }


def advice_json(item: Advice) -> dict[str, Any]:
    return {
        "id": item.id,
        "name": item.name,
        "message": item.message,
        "saved_us": round(item.saved, 3),
        "basis": item.basis,
        "evidence": list(item.evidence),
        "change": list(item.change),
        "where": item.where or None,
        "ranks": list(item.ranks),
        "figures_of_rank": item.most,
    }


def _rank(rank: RankReport) -> Iterator[str]:
    chip = f" on {rank.chip}" if rank.chip else ""
    steps = f", {rank.steps} step{'' if rank.steps == 1 else 's'}" if rank.steps else ""
    yield f"rank {rank.rank}: {time(rank.split.total)}{steps}, {counted(rank.kernels, 'kernel')}{chip}"
    for name, text in PARTS.items():
        amount = getattr(rank.split, name)
        if not amount:
            continue
        share = amount / rank.split.total if rank.split.total else 0.0
        bar = "#" * round(share * _BAR)
        yield f"  {pad(t(text), 36)} {time(amount):>12} {share:>6.1%}  {bar}".rstrip()
    if rank.split.overlapped:
        yield f"  {pad(t('communication, hidden'), 36)} {time(rank.split.overlapped):>12}"
    if rank.memory:
        name = pad(t("memory: peak of tensors, reserved"), 36)
        yield f"  {name} {rank.memory[0]:>9,.0f} MB, {rank.memory[1]:,.0f} MB"
    yield from (f"  {pad(t(name), 36)} {t(text)}" for name, text in further(rank))


def further(rank: RankReport) -> Iterator[tuple[str, str]]:
    """What is told beside the split of the time."""
    if len(rank.memory_over_time) > 2:
        yield "memory over time", sparkline([row[1] for row in rank.memory_over_time])
    if rank.use:
        share = f"{rank.use.mfu:.1%} of {rank.use.peak:,.0f} TFLOPS (float16)" if rank.use.mfu is not None else ""
        least = ", without some convolutions" if rank.use.partial else ""
        yield "matrix units used (MFU)", f"{share or 'chip not known'}: {rank.use.rate:,.3g} TFLOPS{least}"
    if rank.launches:
        found = rank.launches
        call = f", call {time(found.call)}" if found.call is not None else ""
        late = f", {found.late:,} later than 100 us" if found.late else ""
        yield (
            "launches",
            f"{found.sent:,}{call}, then {time(found.delay)} on average ({time(found.delay_median)} median){late}",
        )
        yield "kernels in the queue", f"{found.queue:,.1f} on average, {found.queue_most:,} at most"


def sparkline(values: Sequence[float]) -> str:
    """A course in 30 characters, from 0 to the highest."""
    highest = max(values) or 1.0
    parts = [values[len(values) * index // _BAR : len(values) * (index + 1) // _BAR or None] for index in range(_BAR)]
    return "".join(_BLOCKS[round(max(part) / highest * (len(_BLOCKS) - 1))] for part in parts if part)


def _advice(number: int, item: Advice, total: float, ranks: int) -> Iterator[str]:
    share = f", {item.saved / total:.1%}" if total else ""
    saved = f"saves about {time(item.saved)}{share} ({item.basis})" if item.saved else "time saved unknown"
    where = f"{item.where}: " if item.where else ""
    yield ""
    yield f"{number}. {where}{item.id} {item.name}: {t(saved)}"
    yield f"   {t(item.message)}"
    if ranks > 1 and item.ranks:
        shown = ", ".join(map(str, item.ranks[:_RANKS])) + (" …" if len(item.ranks) > _RANKS else "")
        yield f"   on rank {shown}{f'; the figures are those of rank {item.most}' if item.most is not None else ''}"
    for text in item.evidence:
        yield f"   - {t(text)}"
    for index, text in enumerate(item.change):
        yield f"   {pad('' if index else t('change:'), 8)}{t(text)}"


def _rank_json(rank: RankReport) -> dict[str, Any]:
    return {
        "rank": rank.rank,
        "path": rank.path,
        "chip": rank.chip or None,
        "steps": rank.steps,
        "kernels": rank.kernels,
        "split_us": _split_json(rank.split),
        "memory_mb": {"allocated": rank.memory[0], "reserved": rank.memory[1]} if rank.memory else None,
        "memory_over_time": [
            {"us": round(at, 3), "allocated_mb": round(one, 3), "reserved_mb": round(other, 3)}
            for at, one, other in rank.memory_over_time
        ],
        "launches": rank.launches._asdict() if rank.launches else None,
        "use": rank.use._asdict() if rank.use else None,
        "operators": [
            {"type": row.type, "core": row.core or None, "calls": row.calls, "time_us": round(row.time, 3)}
            for row in rank.operators
        ],
        "notes": list(rank.notes),
    }


def _split_json(split: Split) -> dict[str, float]:
    return {name: round(value, 3) for name, value in split._asdict().items()}


def _notes(report: Report) -> Iterator[str]:
    """Each once: what every rank has to say is said for all of them."""
    common = [text for rank in report.ranks[:1] for text in rank.notes if _by_all(report, text)]
    many = len(report.ranks) > 1
    yield from (f"every rank: {text}" if many else text for text in common)
    for rank in report.ranks:
        yield from (f"rank {rank.rank}: {text}" for text in rank.notes if text not in common)
    yield from report.notes


def _by_all(report: Report, text: str) -> bool:
    return all(text in rank.notes for rank in report.ranks)


def _change(old: float, new: float) -> str:
    return pad(f"{(new - old) / old:+.1%}" if old else t("new"), 12, right=True)
