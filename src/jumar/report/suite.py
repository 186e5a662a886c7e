"""What `pytest --npu` says at its end, as lines and as a JSON document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from jumar.report import json

if TYPE_CHECKING:
    from jumar.app.suite_record import SuiteResult

_SHOWN = 3
"""Tests named for an operator; the JSON report has all."""

FIELDS = {
    "version": "version of this shape; raised when a field changes its meaning or is removed",
    "tool.name": "`jumar`",
    "tool.version": "version of Jumar",
    "kind": "`suite`",
    "npu.emulated": "whether the NPUs were emulated",
    "npu.where": "the NPUs in one line",
    "tests.outcomes": "number of tests by outcome: `passed`, `failed`, `skipped`",
    "tests.on_card": "ids of the tests that took memory of a card in their own process or in their ranks",
    "refusals[].kind": "`function`, `operator` or `arguments` was refused; `fallback` ran on the CPU",
    "refusals[].name": "the function or operator",
    "refusals[].tests": "ids of the tests in which it happened; an empty id is outside of tests",
}
"""Every field that can appear; a test compares it with what is written."""


def document(result: SuiteResult) -> dict[str, Any]:
    """The fields of `--npu-report`."""
    noted = [{"kind": item.kind.value, "name": item.name, "tests": list(tests)} for item, tests in result.noted.items()]
    return json.document(
        {
            "kind": "suite",
            "npu": {"emulated": result.emulated, "where": result.where},
            "tests": {"outcomes": result.outcomes, "on_card": list(result.used)},
            "refusals": sorted(noted, key=lambda row: (row["kind"], row["name"])),
        }
    )


def lines(result: SuiteResult) -> Iterator[str]:
    """The section at the end of a run."""
    yield result.where
    ran = sum(count for outcome, count in result.outcomes.items() if outcome != "skipped")
    yield f"{len(result.used)} of {ran} tests used a card"
    if not result.emulated:
        yield "refused calls and fallbacks are recorded on emulated NPUs only"
    for row in document(result)["refusals"]:
        verb = "ran on the CPU" if row["kind"] == "fallback" else f"refused ({row['kind']})"
        yield f"{row['name']} {verb}: {_tests(row['tests'])}"


def _tests(names: list[str]) -> str:
    shown = [name or "outside of tests" for name in names[:_SHOWN]]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
