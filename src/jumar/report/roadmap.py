"""A plan on one page: for a mail (HTML), for a repository (Markdown) and for programs (JSON)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from jumar import __version__
from jumar.core.printable import markdown as inert
from jumar.migrate.roadmap.result import Area, Effort, Group, Kind, Roadmap, total
from jumar.report.text import count

if TYPE_CHECKING:
    from jumar.migrate.roadmap.baseline import Checked

FIELDS = {
    "kind": "`roadmap`",
    "plan.root": "the project",
    "plan.verdict": "the plan in one sentence",
    "plan.effort.low": "person-hours, lower end",
    "plan.effort.high": "person-hours, upper end",
    "plan.areas": "number of places by part of the project",
    "plan.groups[].cause": "the root cause",
    "plan.groups[].kind": "`blocks`, `changes results`, `to be clarified`, `costs speed` or `cosmetic`",
    "plan.groups[].made": "does `jumar migrate` make this change?",
    "plan.groups[].places": "number of places",
    "plan.groups[].files": "number of files",
    "plan.groups[].areas": "number of places by part of the project",
    "plan.groups[].effort.low": "person-hours, lower end; `effort` is null for CUDA kernels, which nobody can estimate",
    "plan.groups[].effort.high": "person-hours, upper end",
    "plan.groups[].todo": "what to do",
    "plan.groups[].ids": "ids of the rules that found it",
    "plan.groups[].examples": "first places",
    "plan.unknown": "what nobody knows yet, in sentences",
    "plan.basis": "where the hours come from",
    "plan.scanned": "files read",
    "plan.lines": "lines read",
    "plan.changed": "files that `jumar migrate` changes",
}
"""Every field of a plan in JSON, for the reference page."""
ROWS = 12
"""Causes that are listed one by one; a page has room for so many."""
STALE = 20
"""Entries of a baseline that are named."""
_DAY = 8.0
_LITTLE = 0.25
"""Hours: a range that begins here has only an upper end worth naming."""
_HEADS = ("cause", "kind", "where", "places", "files", "effort", "what to do")
_MEANINGS = {
    Kind.BLOCKS: "the program does not run, or a part of it does not",
    Kind.RESULTS: "it runs, and may compute something else",
    Kind.UNCLEAR: "somebody who knows the code has to look",
    Kind.SPEED: "it runs, slower",
    Kind.COSMETIC: "nothing depends on it",
}


_AREAS = {
    Area.TESTS: "*tests*: the project's own tests",
    Area.CI: "*ci*: build services and images",
    Area.OPTIONAL: "*optional*: examples, notebooks, benchmarks, tools and documents",
}
MORE = "`jumar analyze --plan plan.json` lists them"
STEPS = (
    "`jumar migrate --write` makes the changes; somebody reviews the diff.",
    "`jumar migrate --verify` imports every module before and after, on emulated NPUs.",
    "The causes above are dealt with from the top, those that stop the product first.",
    "A short training on a real NPU is compared with one on a GPU (`jumar compare`).",
)


def verdict(plan: Roadmap) -> str:
    """The plan in one sentence."""
    if not plan.groups:
        return "Nothing in this project depends on CUDA: there is nothing to do."
    left = [group for group in plan.groups if not group.is_made]
    made = sum(group.places for group in plan.groups if group.is_made)
    share = f"Jumar changes {made:,} of {plan.places:,} places by itself"
    if not left:
        return f"This project can move at once: {share}, and reviewing that takes {hours(plan.effort)}."
    blocking = [group for group in left if group.kind is Kind.BLOCKS and dict(group.areas).get(Area.PRODUCT)]
    more = ", CUDA kernels on top" if plan.is_open else ""
    causes = f"{count(len(left), 'cause')} {'is' if len(left) == 1 else 'are'} left for people"
    work = f"This project can move with {hours(plan.effort)} of work{more}"
    return f"{work}: {share}, {causes}, and {_stop(left, blocking)}."


def _stop(left: list[Group], blocking: list[Group]) -> str:
    """Which of the causes that are left stop the product."""
    if not blocking:
        return "none of them stops it" if len(left) > 1 else "it does not stop the project"
    if len(blocking) == len(left):
        return (
            "all of them stop the product until somebody deals with them" if len(left) > 1 else "it stops the product"
        )
    if len(blocking) == 1:
        return "one of them stops the product until somebody deals with it"
    return f"{len(blocking):,} of them stop the product until somebody deals with them"


def hours(effort: Effort | None) -> str:
    """A range as people say it: hours up to a day, days beyond."""
    if effort is None:
        return "not estimated"
    low, high = _spoken(effort.low), _spoken(effort.high)
    if effort.low <= _LITTLE < effort.high:
        return f"up to {high}"
    if low == high:
        return high
    number, unit = high.split()
    if low.rstrip("s").endswith(unit.rstrip("s")):
        return f"{low.split()[0]}–{number} {unit}"
    return f"{low} to {high}"


def _spoken(hours: float) -> str:
    """`1 hour`, `2.5 days`: rounded to what such a number can claim."""
    number, noun = (hours, "hour") if hours <= _DAY else (hours / _DAY, "day")
    number = max(0.25, round(number * 4) / 4) if number < 1 else round(number * 2) / 2 if number < 4 else round(number)
    return f"{number:g} {noun}{'' if number == 1 else 's'}"


def markdown(plan: Roadmap) -> str:
    return "\n".join(_markdown(plan)) + "\n"


def compared(checked: Checked, name: str) -> Iterator[str]:
    """What a baseline says about a run; entries that are gone are named."""
    yield f"baseline `{name}`: {checked.known:,} known, {len(checked.new):,} new, {len(checked.stale):,} gone"
    for entry in checked.stale[:STALE]:
        what = f" ({entry.subject})" if entry.subject else ""
        yield f"  gone: {entry.path}: {entry.id}{what}"
    if len(checked.stale) > STALE:
        yield f"  … and {len(checked.stale) - STALE:,} more (`--json`)"
    if checked.stale:
        yield f"  `--write-baseline {name}` takes them out"


def fields(plan: Roadmap) -> dict[str, Any]:
    return {
        "kind": "roadmap",
        "plan": {
            "root": plan.root,
            "verdict": verdict(plan),
            "effort": _effort(plan.effort),
            "areas": {area.value: plan.of(area) for area in Area},
            "groups": [_group(group) for group in plan.groups],
            "unknown": list(plan.unknown),
            "basis": plan.basis,
            "scanned": plan.scanned,
            "lines": plan.lines,
            "changed": plan.changed,
        },
    }


def where(group: Group) -> str:
    """In which part most of it is, and how much of it."""
    most, number = group.areas[0]
    return most.value if number == group.places else f"{most.value} ({100 * number // group.places} %)"


def _markdown(plan: Roadmap) -> Iterator[str]:
    yield f"# Moving {inert(f'`{_unquoted(name(plan))}`')} to Ascend NPUs"
    yield ""
    yield f"**{verdict(plan)}**"
    yield ""
    parts = ", ".join(f"{plan.of(area):,} in {area.value}" for area in Area if plan.of(area))
    read = f"{count(plan.scanned, 'file')} with {count(plan.lines, 'line')} were read"
    yield f"{read}. Places that depend on CUDA: {parts or 'none'}. {_areas(plan)}".rstrip()
    listed, rest = shown(plan)
    if listed:
        yield ""
        yield "## What people have to do"
        yield ""
        yield from _table(listed)
        for one in rest:
            numbers = f"{one.places:,} | {one.files:,} | {hours(one.effort)}"
            yield f"| {count(one.causes, 'more cause')} | {one.kind.value} | | {numbers} | {MORE} |"
        yield ""
        yield "; ".join(f"*{kind.value}*: {meaning}" for kind, meaning in kinds(plan)) + "."
    if changes := made(plan):
        places, files, effort, names = changes
        yield ""
        yield "## What Jumar does"
        yield ""
        changed = f"`jumar migrate` changes {count(places, 'place')} in {count(files, 'file')}"
        yield f"{changed}; reviewing the diff takes {hours(effort)}: {inert(names)}."
    yield ""
    yield "## What is not known"
    yield ""
    yield from (f"- {inert(sentence)}" for sentence in plan.unknown)
    yield ""
    yield "## What comes next"
    yield ""
    yield from (f"{number}. {step}" for number, step in enumerate(STEPS, 1))
    yield ""
    yield "## Where the hours come from"
    yield ""
    yield plan.basis
    yield ""
    yield f"*Written by Jumar {__version__}; `jumar explain ID` tells more about a rule.*"


def _unquoted(text: str) -> str:
    return text.replace("`", "'")


def _areas(plan: Roadmap) -> str:
    """What the parts are, where there is more than the product."""
    said = [meaning for area, meaning in _AREAS.items() if plan.of(area)]
    return f"*product*: what the project itself runs; {'; '.join(said)}." if said else ""


def _table(groups: list[Group]) -> Iterator[str]:
    yield f"| {' | '.join(_HEADS)} |"
    yield "| --- | --- | --- | ---: | ---: | --- | --- |"
    for group in groups:
        cells = (
            f"{group.cause} ({', '.join(group.ids)})", group.kind.value, where(group), f"{group.places:,}",
            f"{group.files:,}", hours(group.effort), group.todo,
        )  # fmt: skip
        yield "| " + " | ".join(map(inert, cells)) + " |"


class Rest(NamedTuple):
    """The causes of one kind that have no row of their own."""

    kind: Kind
    causes: int
    places: int
    files: int
    effort: Effort | None


def shown(plan: Roadmap) -> tuple[list[Group], list[Rest]]:
    """The causes that fit on the page, and the sums of the others by kind."""
    left = [group for group in plan.groups if not group.is_made]
    if len(left) <= ROWS + 1:
        return left, []
    return left[:ROWS], [
        _rest(kind, groups) for kind in Kind if (groups := [one for one in left[ROWS:] if one.kind is kind])
    ]


def _rest(kind: Kind, groups: list[Group]) -> Rest:
    known = any(group.effort is not None for group in groups)
    places, files = sum(group.places for group in groups), sum(group.files for group in groups)
    return Rest(kind, len(groups), places, files, total(groups) if known else None)


def made(plan: Roadmap) -> tuple[int, int, Effort, str] | None:
    groups = [group for group in plan.groups if group.is_made]
    if not groups:
        return None
    names = ", ".join(f"{group.cause} ({group.places:,})" for group in sorted(groups, key=lambda one: -one.places)[:5])
    return sum(group.places for group in groups), plan.changed, total(groups), names


def kinds(plan: Roadmap) -> list[tuple[Kind, str]]:
    present = {group.kind for group in plan.groups if not group.is_made}
    return [(kind, text) for kind, text in _MEANINGS.items() if kind in present]


def _group(group: Group) -> dict[str, Any]:
    return {
        "cause": group.cause,
        "kind": group.kind.value,
        "made": group.is_made,
        "places": group.places,
        "files": group.files,
        "areas": {area.value: number for area, number in group.areas},
        "effort": _effort(group.effort),
        "todo": group.todo,
        "ids": list(group.ids),
        "examples": list(group.examples),
    }


def _effort(effort: Effort | None) -> dict[str, float] | None:
    return None if effort is None else {"low": round(effort.low, 3), "high": round(effort.high, 3)}


def name(plan: Roadmap) -> str:
    """The project's folder."""
    return os.path.basename(os.path.abspath(plan.root)) or plan.root
