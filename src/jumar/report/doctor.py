"""What doctor found, as lines for a terminal and as the fields of a JSON document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from jumar.core.lang import t
from jumar.core.printable import paint
from jumar.core.words import counted
from jumar.report import json

if TYPE_CHECKING:
    from jumar.machine.check import Outcome

_COLOURS = {"ok": "32", "note": "36", "unknown": "33", "warning": "33", "error": "31", "skipped": "2"}


def lines(
    outcomes: Iterable[Outcome], *, quiet: bool = False, verbose: bool = False, colour: bool = False
) -> Iterator[str]:
    """A line for each check that is well or was skipped, and one for each finding with its fix below."""
    for outcome in outcomes:
        if not outcome.findings and not quiet:
            status = _paint(outcome.status, colour)
            yield f"{outcome.check.id} {status} {outcome.check.name}: {t(outcome.told)}"
        for item in outcome.findings:
            yield f"{item.id} {_paint(item.level, colour)} {t(item.message)}"
            yield from (t(f"    fix: {line}") for line in (item.fix or "").splitlines())
        if verbose:
            yield from (f"    {t(line)}" for line in outcome.facts)


def summary(outcomes: Sequence[Outcome], seconds: float) -> str:
    counts = Counter(outcome.status.value for outcome in outcomes)
    parts = ", ".join(
        f"{counts[name]} {name}" for name in ("ok", "error", "warning", "unknown", "note", "skipped") if counts[name]
    )
    return f"{counted(len(outcomes), 'check')} in {seconds:.1f} s: {parts}"


def document(outcomes: Sequence[Outcome], machine: dict[str, Any], seconds: float) -> dict[str, Any]:
    """`machine`, `summary`, and `checks` with their findings; `docs/guides/doctor.md` describes it."""
    counts = Counter(outcome.status.value for outcome in outcomes)
    return {
        "kind": "doctor",
        "machine": machine,
        "summary": {"seconds": round(seconds, 3), **{name: counts[name] for name in _COLOURS}},
        "checks": [
            {
                "id": outcome.check.id,
                "name": outcome.check.name,
                "status": outcome.status.value,
                "told": outcome.told,
                "facts": list(outcome.facts),
                "seconds": round(outcome.seconds, 3),
                "findings": [json.finding(item) for item in outcome.findings],
            }
            for outcome in outcomes
        ],
        "errors": [],
    }


def _paint(word: str, colour: bool) -> str:
    return paint(word, _COLOURS[word]) if colour else word
