"""Sequences of operators that one NPU operator replaces, by the rows of data/perf_fusions.toml."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.perf.facts import Facts
from jumar.perf.places import inside, place
from jumar.perf.result import MODELLED, Advice, time
from jumar.perf.sequence import Match, connected, sequences
from jumar.perf.unit import Unit, times
from jumar.tables.perf import Fusion, fusions

ADVICE = Unit("PF101", "fusible-operators", "a sequence of operators that one fused NPU operator replaces")


def look(facts: Facts) -> Iterator[Advice]:
    threads = sequences(facts)
    taken: set[int] = set()
    for row in fusions():
        found: dict[tuple[str, str], list[Match]] = {}
        for thread in threads:
            for match in thread.find(row.pattern):
                if taken.isdisjoint(match.ops) and connected(facts, match):
                    taken.update(match.ops)
                    found.setdefault(_place(facts, match), []).append(match)
        for (where, library), matches in found.items():
            yield _advice(facts, row, where, library, matches)


def _advice(facts: Facts, row: Fusion, where: str, library: str, matches: list[Match]) -> Advice:
    device = sum(sum(facts.device[op] for op in match.ops) for match in matches)
    kept = sum(max(facts.device[op] for op in match.ops) for match in matches)
    host = sum(facts.profile.host[op].end - facts.profile.host[op].start for match in matches for op in match.ops[1:])
    saved = device - kept + host * facts.host_bound
    names = " ".join(facts.profile.host[op].name.removeprefix("aten::") for op in matches[0].ops)
    return Advice(
        ADVICE.id,
        f"{ADVICE.name}: {row.name}",
        f"{times(len(matches), 'sequence')} of {len(matches[0].ops)} operators could be one",
        saved,
        MODELLED,
        (
            *([f"in {library}"] if library else []),
            f"operators: {names}",
            f"{_device(facts, device, kept)}host time of the rest {time(host)}",
        ),
        (row.replace, f"# {row.note}"),
        where,
    )


def _device(facts: Facts, device: float, kept: float) -> str:
    if not facts.split.total:
        return ""
    return f"device time {time(device)}, of which the largest kernel of each takes {time(kept)}; "


def _place(facts: Facts, match: Match) -> tuple[str, str]:
    """Of the program, and of the library that it called."""
    stack = next((found for op in match.ops if (found := facts.profile.host[op].stack)), "")
    return place(stack), inside(stack)
