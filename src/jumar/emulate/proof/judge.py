"""What both sides of a module or a test say together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from jumar.emulate.proof.modules import Module
from jumar.emulate.proof.result import Case, End, Missing, Outcome, Verdict
from jumar.tables import import_names, third_party

_NO_ANSWER = (End.NETWORK, End.OUTSIDE, End.LATE, End.MEMORY, End.EXITED, End.NOT_RUN)
_SLOW = 3
"""A module that took this part of the time limit before may miss it after without being worse."""
_SCRIPT = 'it starts its work when it is imported (no `if __name__ == "__main__"`)'


def module(one: Module, before: Outcome, after: Outcome, *, is_changed: bool) -> Case:
    verdict, reason = _verdict(before, after)
    if one.acts and verdict in (Verdict.BROKEN, Verdict.UNKNOWN):
        verdict, reason = Verdict.UNKNOWN, f"{_SCRIPT}; {reason or _short(before)}"
    return Case(one.name, one.path, before, after, verdict, reason, is_changed, one.acts)


def test(name: str, before: Outcome | None, after: Outcome | None, changed: Callable[[str], bool]) -> Case:
    """A test that exists on one side only is no answer."""
    path = name.partition("::")[0]
    none = Outcome(End.NOT_RUN, error="not collected")
    old, new = before or none, after or none
    if old.end is End.SKIPPED or new.end is End.SKIPPED:
        verdict, reason = _skipped(old, new)
    else:
        verdict, reason = _verdict(old, new)
    return Case(name, path, old, new, verdict, reason, changed(path))


def missing(cases: Iterable[Case]) -> tuple[Missing, ...]:
    """The packages that modules lack, those first that most need."""
    needed = Counter(case.after.package or case.before.package for case in cases if case.verdict is Verdict.PACKAGE)
    rows = []
    for name, count in sorted(needed.items(), key=lambda item: (-item[1], item[0])):
        recipe = third_party.recipe(name)
        note = recipe.note if recipe is not None and recipe.state.value == "unsupported" else ""
        rows.append(Missing(name, import_names.project(name), note, count))
    return tuple(rows)


def _verdict(before: Outcome, after: Outcome) -> tuple[Verdict, str]:
    if after.end is End.OK:
        return (Verdict.SAME, "") if before.end is End.OK else (Verdict.BETTER, "")
    if before.end is End.OK:
        slow = after.end is End.LATE and before.seconds * _SLOW > after.seconds
        if slow or after.end in (End.NOT_RUN, End.OUTSIDE, End.NETWORK):
            return Verdict.UNKNOWN, _short(after)
        return Verdict.WORSE, ""
    if End.PACKAGE in (before.end, after.end):
        return Verdict.PACKAGE, ""
    for side in (before, after):
        if side.end in _NO_ANSWER:
            return Verdict.UNKNOWN, _short(side)
    differs = _kind(before.error) != _kind(after.error)
    return Verdict.BROKEN, f"before: {_short(before)}; now: {_short(after)}" if differs else ""


def _skipped(before: Outcome, after: Outcome) -> tuple[Verdict, str]:
    if before.end is after.end:
        return Verdict.UNKNOWN, "skipped on both sides"
    if before.end is End.SKIPPED:
        if after.end is End.OK:
            return Verdict.BETTER, ""
        return Verdict.UNKNOWN, "skipped before; on the card it fails"
    return Verdict.UNKNOWN, "it no longer runs: skipped now"


def _short(side: Outcome) -> str:
    return f"{side.end.value}: {side.error}" if side.error else side.end.value


def _kind(error: str) -> str:
    return error.partition(":")[0]
