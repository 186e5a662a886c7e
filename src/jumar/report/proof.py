"""A proof by execution as lines and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from jumar.core import held
from jumar.emulate.proof.result import Case, Missing, Outcome, Proof, Verdict, counts
from jumar.report.text import count

FIELDS = {
    "proof.verdict": "`works as before`, `worse` or `cannot tell` (with `--verify` and no command)",
    "proof.told": "the verdict in one sentence",
    "proof.seconds": "wall-clock time of both sides",
    **{f"proof.{name}": meaning for name, meaning in held.FIELDS.items()},
    "proof.modules.counts": "number of modules by verdict",
    "proof.tests.counts": "number of tests by verdict",
    "proof.missing[].module": "a module that is not installed",
    "proof.missing[].pip": "the project that brings it, or null when no table knows it",
    "proof.missing[].note": "why it is of no use on an NPU, or null",
    "proof.missing[].cases": "modules of the project that stop at it",
    "proof.notes": "what was left out, in sentences",
    "proof.cases[].kind": "`module` or `test`; those that work as before are counted, not listed",
    "proof.cases[].name": "dotted name, or the test's id",
    "proof.cases[].path": "its file, from the top of the project",
    "proof.cases[].verdict": "`works now`, `worse`, `already broken`, `needs a package` or `cannot tell`",
    "proof.cases[].reason": "why there is no answer, or null",
    "proof.cases[].changed": "does the migration change this file?",
    "proof.cases[].before.end": "how it ended before the migration",
    "proof.cases[].before.seconds": "how long that took",
    "proof.cases[].before.error": "last line of the traceback, or null",
    "proof.cases[].before.site": "innermost place inside the project, `path:line`, or null",
    "proof.cases[].before.trace": "the last lines of the traceback",
    "proof.cases[].after.end": "how it ended after the migration",
    "proof.cases[].after.seconds": "how long that took",
    "proof.cases[].after.error": "last line of the traceback, or null",
    "proof.cases[].after.site": "innermost place inside the migrated project, `path:line`, or null",
    "proof.cases[].after.trace": "the last lines of the traceback",
}
"""Every field of `proof`, for the reference page."""
_MOST = 10
"""Lines about cases of one kind."""
_TRACE = 4
LONGEST = 240
"""Characters of a reason."""
TITLES = {
    Verdict.WORSE: "worse than before",
    Verdict.BROKEN: "already broken before the migration",
    Verdict.UNKNOWN: "no answer",
}


def lines(proof: Proof, *, show_all: bool = False) -> Iterator[str]:
    """The verdict first, then what is worse with its traceback, then what could not be told."""
    yield verdict(proof)
    for what, both in (("modules", proof.modules), ("tests", proof.tests)):
        if both:
            found = counts(both)
            yield f"  {what}: " + ", ".join(f"{one.value} {found[one]}" for one in Verdict if found[one])
    for kind, title in TITLES.items():
        cases = [case for case in proof.cases if case.verdict is kind]
        if cases:
            yield f"  {title}:"
            yield from _some(cases, show_all or kind is Verdict.WORSE)
    scripts = [case.path for case in proof.modules if case.is_script and case.verdict is Verdict.UNKNOWN]
    if scripts:
        yield f"  a script is proved by running it: `--verify -- python {scripts[0]}`"
    yield from map(missing, proof.missing)
    if known := [one.pip for one in proof.missing if one.pip and not one.note]:
        yield f"    pip install {' '.join(known)}"
    for note in proof.notes:
        yield f"  note: {note}"
    yield f"  note: {proof.held.sentence}"


def verdict(proof: Proof) -> str:
    """One sentence."""
    changed = [case for case in proof.modules if case.is_changed]
    compared = [case for case in changed if case.verdict in (Verdict.SAME, Verdict.BETTER, Verdict.WORSE)]
    how = f"{len(compared)} of {count(len(changed), 'changed module')} could be compared"
    how += f", {count(len(proof.tests), 'test')}" if proof.tests else ""
    if proof.worse:
        return f"proof: {len(proof.worse)} got worse; {how} ({proof.seconds:.0f} s)"
    if proof.verdict is Verdict.UNKNOWN:
        return f"proof: cannot tell; nothing got worse, but only {how} ({proof.seconds:.0f} s)"
    return f"proof: nothing got worse; {how} ({proof.seconds:.0f} s)"


def offer(paths: Sequence[str]) -> str:
    """What to do next, at the end of a run that changes something."""
    return f"Prove it: jumar migrate {' '.join(paths)} --verify"


def fields(proof: Proof) -> dict[str, Any]:
    tests = {id(case) for case in proof.tests}
    return {
        "verdict": proof.verdict.value,
        "told": verdict(proof).removeprefix("proof: "),
        "seconds": round(proof.seconds, 1),
        "sandbox": proof.held._asdict(),
        "modules": {"counts": _counts(proof.modules)},
        "tests": {"counts": _counts(proof.tests)},
        "missing": [
            {"module": one.module, "pip": one.pip or None, "note": one.note or None, "cases": one.cases}
            for one in proof.missing
        ],
        "notes": list(proof.notes),
        "cases": [
            _case(case, "test" if id(case) in tests else "module")
            for case in proof.cases
            if case.verdict is not Verdict.SAME
        ],
    }


def _some(cases: Sequence[Case], show_all: bool) -> Iterator[str]:
    for case in cases if show_all else cases[:_MOST]:
        if case.verdict is Verdict.WORSE:
            site = f"{case.after.site[0]}:{case.after.site[1]}: " if case.after.site else ""
            yield f"    {site}{case.name}: {case.after.error or case.after.end.value}"
            yield from (f"      | {line}" for line in case.after.trace[-_TRACE:])
        elif case.verdict is Verdict.BROKEN:
            yield f"    {case.path}: {(case.reason or case.before.error)[:LONGEST]}"
        else:
            yield f"    {case.path if '::' not in case.name else case.name}: {case.reason[:LONGEST]}"
    if len(cases) > _MOST and not show_all:
        yield f"    … and {len(cases) - _MOST} more (`--all`, `--json`)"


def missing(one: Missing) -> str:
    stop = "stops" if one.cases == 1 else "stop"
    where = f"  {count(one.cases, 'module')} {stop} at `{one.module}`, which is not installed"
    return f"{where}: {one.note}" if one.note else where


def _counts(cases: Sequence[Case]) -> dict[str, int]:
    found = counts(cases)
    return {one.value: found[one] for one in Verdict if found[one]}


def _case(case: Case, kind: str) -> dict[str, Any]:
    return {
        "kind": kind,
        "name": case.name,
        "path": case.path,
        "verdict": case.verdict.value,
        "reason": case.reason or None,
        "changed": case.is_changed,
        "before": _outcome(case.before),
        "after": _outcome(case.after),
    }


def _outcome(one: Outcome) -> dict[str, Any]:
    return {
        "end": one.end.value,
        "seconds": one.seconds,
        "error": one.error or None,
        "site": f"{one.site[0]}:{one.site[1]}" if one.site else None,
        "trace": list(one.trace),
    }
