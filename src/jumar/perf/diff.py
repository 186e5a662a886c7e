"""Two profiles side by side, per step where they have steps: what became faster, slower, new or gone."""

from __future__ import annotations

from pathlib import Path

from jumar.core.compat import zip
from jumar.perf import analyse
from jumar.perf.result import Change, Difference, Report, Split

TOP = 30


def difference(before: Path, after: Path, jobs: int | None = None) -> Difference:
    first, second = analyse.report(before, jobs), analyse.report(after, jobs)
    steps = _steps(first), _steps(second)
    names = {(item.id, item.name) for item in first.advice}, {(item.id, item.name) for item in second.advice}
    return Difference(
        first,
        second,
        (_split(first, steps[0]), _split(second, steps[1])),
        steps,
        tuple(_kernels(first, second, steps)),
        tuple(item for item in first.advice if (item.id, item.name) not in names[1]),
        tuple(item for item in second.advice if (item.id, item.name) not in names[0]),
    )


def _steps(report: Report) -> int:
    return max(1, report.ranks[0].steps)


def _split(report: Report, steps: int) -> Split:
    """The mean over ranks, of one step."""
    count = len(report.ranks) * steps
    return Split(*(sum(column) / count for column in zip(*(rank.split for rank in report.ranks), strict=True)))


def _kernels(first: Report, second: Report, steps: tuple[int, int]) -> list[Change]:
    tables = []
    for report, count in zip((first, second), steps, strict=True):
        rows: dict[str, tuple[float, float]] = {}
        for rank in report.ranks:
            for row in rank.operators:
                calls, amount = rows.get(row.type, (0.0, 0.0))
                share = count * len(report.ranks)
                rows[row.type] = calls + row.calls / share, amount + row.time / share
        tables.append(rows)
    zero = (0.0, 0.0)
    changes = [
        Change(name, (tables[0].get(name, zero)[0], tables[1].get(name, zero)[0]),
               (tables[0].get(name, zero)[1], tables[1].get(name, zero)[1]))
        for name in {**tables[0], **tables[1]}
    ]  # fmt: skip
    return sorted(changes, key=lambda row: (-abs(row.time[1] - row.time[0]), row.type))[:TOP]
