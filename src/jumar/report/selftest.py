"""A self-test as text and as one page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from jumar.core.lang import t
from jumar.core.words import counted
from jumar.report.pages import selftest as pages

if TYPE_CHECKING:
    from jumar.selftest.result import SelfTest


def lines(test: SelfTest) -> Iterator[str]:
    """For a terminal: differences by class, then the sum."""
    for verdict, (_, meaning) in pages.CLASSES.items():
        rows = [row for row in test.differences if row.verdict == verdict]
        if rows:
            yield t("{verdict} ({meaning}):", verdict=verdict, meaning=meaning)
            for row in rows:
                yield f"  {row.id}: {row.kind}: {row.what}"
                yield f"      {row.why}"
    for figure in test.figures:
        yield f"measured {figure.name}: {figure.value:g} {figure.unit}"


def summary(test: SelfTest) -> str:
    """One line."""
    machine = f"{test.machine.get('test_cards', 1)} x {test.machine.get('name', 'unknown chip')}"
    kind = "emulated cards, so this says nothing about a real one" if test.emulated else "real cards"
    counts = f"{test.count('same')} the same, {counted(len(test.differences), 'difference')}"
    left = "".join(f", {test.count(state)} {state}" for state in ("skipped", "not run") if test.count(state))
    return f"{machine} ({kind}): {counted(len(test.cases), 'case')}: {counts}{left}, {test.seconds:.0f} s"


def html(test: SelfTest) -> str:
    """One self-contained page."""
    return pages.page(test.document()).html()
