"""A profile in, a report out: each rank in a process of its own, then the comparison of ranks."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from jumar.core import discover
from jumar.core.errors import UserError
from jumar.perf import picture
from jumar.perf.analyzers import fusible_operators, host_synchronisation, small_kernels, unfused_optimizer
from jumar.perf.facts import gather
from jumar.perf.flops import use
from jumar.perf.launches import launches
from jumar.perf.profile import Profile
from jumar.perf.readers import folder
from jumar.perf.readers.folder import Source
from jumar.perf.result import MEASURED, MODELLED, Advice, Operator, RankReport, Report, time
from jumar.perf.unit import analyzers

SKEW = 0.1
"""Share by which one rank may compute longer than the middle one."""
LEAST = 0.01
"""Share of the whole time that must be at stake."""
SLOW_RANK = ("PF113", "slow-rank", "one rank computes longer than the others, which wait for it")
TOP = 30
_CAUSES = {unit.ADVICE.id for unit in (fusible_operators, host_synchronisation, unfused_optimizer)}


def report(path: Path, jobs: int | None = None) -> Report:
    """Everything about the profiles at `path`."""
    sources = folder.find(path)
    ranks, notes = _ranks(sources, jobs or os.cpu_count() or 1)
    return Report(str(path), tuple(ranks), tuple(merged(ranks)), tuple(notes))


def chosen(report: Report, only: Sequence[str], skip: Sequence[str]) -> Report:
    """The report with some advice only; a mistyped id is an error."""
    known = {unit.ADVICE.id for unit in analyzers()} | {SLOW_RANK[0]}
    names = {name.lower(): name for name in known}
    wanted, unwanted = (discover.ids(words, names, "advice", ", ".join(sorted(known))) for words in (only, skip))
    left = tuple(item for item in report.advice if item.id in (wanted or known) - unwanted)
    return replace(report, advice=left)


def renamed(report: Report, path: str) -> Report:
    """Under the name of what was run, where the profile itself is not kept."""
    return replace(report, path=path)


def rank_report(profile: Profile) -> RankReport:
    """One rank: split, operators, advice, picture."""
    facts = gather(profile)
    advice = _without_double([item for unit in analyzers() for item in unit.look(facts)])
    window, lanes = picture.draw(profile, facts.window)
    memory = profile.memory
    return RankReport(
        profile.rank,
        profile.path,
        facts.split,
        len(profile.kernels) + len(profile.comm),
        len(profile.steps) or len(profile.step_rows),
        tuple(_operators(profile)),
        tuple(_ranked(advice)),
        lanes,
        window,
        tuple(profile.notes),
        profile.modelled,
        profile.chip,
        (memory.allocated, memory.reserved) if memory else None,
        memory.over_time if memory else (),
        launches(profile),
        use(facts),
    )


def merged(ranks: Sequence[RankReport]) -> list[Advice]:
    """The advice of all ranks, the same one once: with the time of the rank that it saves most on."""
    found: dict[tuple[str, str, str], list[tuple[int, Advice]]] = {}
    for rank in ranks:
        for item in rank.advice:
            found.setdefault((item.id, item.name, item.where), []).append((rank.rank, item))
    advice = []
    for items in found.values():
        best = max(items, key=lambda row: row[1].saved)
        ranks_ = tuple(sorted(rank for rank, _ in items))
        advice.append(best[1]._replace(ranks=ranks_, most=best[0] if len(items) > 1 and best[1].saved else None))
    return _ranked([*advice, *_slow_rank(ranks)])


def _ranks(sources: list[Source], jobs: int) -> tuple[list[RankReport], list[str]]:
    if len(sources) == 1 or jobs == 1:
        results = [_one(source) for source in sources]
    else:
        from concurrent.futures import ProcessPoolExecutor

        with ProcessPoolExecutor(min(jobs, len(sources))) as pool:
            results = list(pool.map(_one, sources))
    ranks = [item for item in results if isinstance(item, RankReport)]
    problems = [item for item in results if isinstance(item, UserError)]
    if not ranks:
        raise problems[0]
    return ranks, [f"{error.message}{f': {error.hint}' if error.hint else ''}" for error in problems]


def _one(source: Source) -> RankReport | UserError:
    try:
        return rank_report(folder.load(source))
    except UserError as error:
        return UserError(error.message, error.hint)


def _ranked(advice: Iterable[Advice]) -> list[Advice]:
    return sorted(advice, key=lambda item: (-item.saved, item.id, item.name))


def _without_double(advice: list[Advice]) -> list[Advice]:
    """Waiting between small kernels is what is left of it when the advice about single causes was followed."""
    known = sum(item.saved for item in advice if item.id in _CAUSES)
    return [
        item._replace(saved=max(0.0, item.saved - known)) if item.id == small_kernels.ADVICE.id else item
        for item in advice
    ]


def _operators(profile: Profile) -> list[Operator]:
    rows: dict[tuple[str, str], tuple[int, float]] = {}
    for item in [*profile.kernels, *profile.comm]:
        key = item.type or item.name, item.core
        count, amount = rows.get(key, (0, 0.0))
        rows[key] = count + 1, amount + item.duration
    found = [Operator(type_, core, count, amount) for (type_, core), (count, amount) in rows.items()]
    return sorted(found, key=lambda row: (-row.time, row.type))[:TOP]


def _slow_rank(ranks: Sequence[RankReport]) -> Iterable[Advice]:
    if len(ranks) < 2:
        return
    ordered = sorted(ranks, key=lambda rank: rank.split.computing)
    middle, slowest = ordered[len(ordered) // 2 - (len(ordered) % 2 == 0)], ordered[-1]
    extra = slowest.split.computing - middle.split.computing
    if middle.split.computing <= 0 or extra < max(SKEW * middle.split.computing, LEAST * slowest.split.total):
        return
    yield Advice(
        SLOW_RANK[0],
        SLOW_RANK[1],
        f"rank {slowest.rank} computes {time(extra)} longer than the median rank ({time(middle.split.computing)})",
        extra,
        MODELLED if slowest.modelled else MEASURED,
        tuple(
            f"rank {rank.rank}: computing {time(rank.split.computing)}, communication {time(rank.split.communication)}"
            for rank in ordered[-3:]
        ),
        (
            "share the work evenly: samples of similar length on every rank, the same number of layers in every stage",
            "check that card: `npu-smi info`, its temperature and frequency",
        ),
        ranks=(slowest.rank,),
    )
