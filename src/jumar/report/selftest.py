"""A self-test as text and as one page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from jumar import __version__
from jumar.core.words import counted
from jumar.selftest.result import CLASSES, DIFFERENT, NOT_RUN, SAME, SKIPPED, Difference, SelfTest

LEVELS = {
    "emulator wrong": "unsupported",
    "device fault": "unsupported",
    "unknown": "hand",
    "documented limit": "benign",
}
MEANINGS = {
    "emulator wrong": "evidence says that the card is right",
    "device fault": "evidence says that the card, its driver or CANN is wrong",
    "unknown": "the evidence does not settle it",
    "documented limit": "known, with its source",
}
_MOST = 400


def lines(test: SelfTest) -> Iterator[str]:
    """For a terminal: differences by class, then the sum."""
    for verdict in CLASSES:
        rows = [row for row in test.differences if row.verdict == verdict]
        if rows:
            yield f"{verdict} ({MEANINGS[verdict]}):"
            for row in rows:
                yield f"  {row.id}: {row.kind}: {row.what}"
                yield f"      {row.why}"
    for figure in test.figures:
        yield f"measured {figure.name}: {figure.value:g} {figure.unit}"


def summary(test: SelfTest) -> str:
    """One line."""
    machine = f"{test.machine.get('test_cards', 1)} x {test.machine.get('name', 'unknown chip')}"
    kind = "emulated cards, so this says nothing about a real one" if test.emulated else "real cards"
    counts = f"{test.count(SAME)} the same, {counted(len(test.differences), 'difference')}"
    left = "".join(f", {test.count(state)} {state}" for state in (SKIPPED, NOT_RUN) if test.count(state))
    return f"{machine} ({kind}): {counted(len(test.cases), 'case')}: {counts}{left}, {test.seconds:.0f} s"


def html(test: SelfTest) -> str:
    """One self-contained page."""
    from jumar.report.html import environment

    return environment().get_template("selftest.html").render(
        test=test, summary=summary(test), groups=_groups(test), families=_families(test), version=__version__,
        levels=LEVELS, meanings=MEANINGS,
        left=[case for case in test.cases if case.state in (SKIPPED, NOT_RUN)][:_MOST],
        noise=sorted((case for case in test.cases if case.noise), key=lambda case: -(case.noise or 0))[:_MOST],
    )  # fmt: skip


def _groups(test: SelfTest) -> dict[str, list[Difference]]:
    found = {verdict: [row for row in test.differences if row.verdict == verdict] for verdict in CLASSES}
    return {verdict: rows for verdict, rows in found.items() if rows}


def _families(test: SelfTest) -> list[tuple[str, Counter[str]]]:
    found: dict[str, Counter[str]] = {}
    for case in test.cases:
        found.setdefault(case.id.partition("/")[0], Counter())[case.state] += 1
    return [(name, counts) for name, counts in found.items() if counts[DIFFERENT] or any(counts.values())]
