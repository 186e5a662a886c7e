"""The page of a migration's plan, for whoever decides: effort, causes that are left, what is not known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jumar.migrate.roadmap.result import Area, Effort, Group, Kind, Roadmap
from jumar.report import parts, roadmap
from jumar.report.page import Page, Section, Stage, Step, Verdict
from jumar.report.parts import Cell, Markup, Tile
from jumar.report.words import t

KINDS = ("roadmap",)
HUES = {
    Kind.BLOCKS: "red",
    Kind.RESULTS: "amber",
    Kind.UNCLEAR: "blue",
    Kind.SPEED: "violet",
    Kind.COSMETIC: "grey",
}


def page(document: dict[str, Any]) -> Page:
    plan = _plan(document["plan"])
    name = roadmap.name(plan)
    left = [group for group in plan.groups if not group.is_made]
    return Page(
        "roadmap",
        t("Moving to Ascend NPUs"),
        name,
        _verdict(left, document["plan"]["verdict"]),
        command=f"jumar analyze {plan.root} --plan plan.html",
        stages=[Stage.CODE],
        facts=[(t("read"), f"{parts.count(plan.scanned, 'file')}, {parts.count(plan.lines, 'line')}")],
        sections=list(_sections(plan)),
        steps=[Step(group.todo) for group in left[:3]],
        shows_steps=False,
        points=[f"{group.cause}: {parts.count(group.places, 'place')}" for group in left[:3]],
        foot=t("`jumar explain ID` tells more about a rule."),
    )


def _verdict(left: list[Group], text: str) -> Verdict:
    if not left:
        return Verdict.good(text, t("can move at once"))
    if any(group.kind is Kind.BLOCKS and dict(group.areas).get(Area.PRODUCT) for group in left):
        return Verdict.bad(text, t("blocked until changed"))
    return Verdict.warn(text, t("work left"))


def _sections(plan: Roadmap) -> Iterator[Section]:
    if plan.places:
        yield Section("", _tiles(plan))
    shown, rest = roadmap.shown(plan)
    if shown:
        kinds = Markup("").join(
            Markup('<span><span class="badge c-{}">{}</span> {}</span>').format(HUES[kind], t(kind.value), t(meaning))
            for kind, meaning in roadmap.kinds(plan)
        )
        key = Markup('<p class="legend">{}</p>').format(kinds)
        yield Section(t("What people have to do"), _causes(shown, rest) + key, "causes")
    if made := roadmap.made(plan):
        places, files, effort, names = made
        said = (
            f"`jumar migrate` changes {parts.count(places, 'place')} in {parts.count(files, 'file')}; reviewing the"
            f" diff takes {roadmap.hours(effort)}: {names}."
        )
        yield Section(t("What Jumar does"), parts.paragraph(said))
    yield Section(t("What is not known"), parts.bullets(plan.unknown))
    yield Section(t("What comes next"), parts.steps((t(step), "") for step in roadmap.STEPS))
    yield Section(t("Where the hours come from"), Markup('<p class="soft">{}</p>').format(parts.code(plan.basis)))


def _tiles(plan: Roadmap) -> Markup:
    areas = [(area, plan.of(area)) for area in Area if plan.of(area)]
    return parts.tiles(
        [
            Tile(roadmap.hours(plan.effort), t("for one person"), t("all causes together")),
            *(
                Tile(f"{number:,}", t(area.value), f"{100 * number / plan.places:.0f} % {t('of the places')}")
                for area, number in areas
            ),
        ]
    )


def _causes(shown: list[Group], rest: list[roadmap.Rest]) -> Markup:
    heads = [t("cause"), t("kind"), t("where"), t("places"), t("files"), t("effort"), t("what to do")]
    rows: list[tuple[Any, ...]] = [
        (
            _cause(group),
            _kind(group.kind),
            roadmap.where(group),
            f"{group.places:,}",
            f"{group.files:,}",
            _hours(group.effort),
            group.todo,
        )
        for group in shown
    ]
    rows += [
        (
            Markup('<span class="rest">{}</span>').format(t(parts.count(one.causes, "more cause"))),
            _kind(one.kind),
            "",
            f"{one.places:,}",
            f"{one.files:,}",
            _hours(one.effort),
            roadmap.MORE,
        )
        for one in rest
    ]
    return parts.table(heads, rows, numbers=(3, 4), name=t("causes"))


def _cause(group: Group) -> Markup:
    place = f" · {group.examples[0]}" if group.examples else ""
    return Markup("<b>{}</b><small>{}{}</small>").format(parts.code(group.cause), ", ".join(group.ids), place)


def _kind(kind: Kind) -> Cell:
    return Cell(Markup('<span class="badge c-{}">{}</span>').format(HUES[kind], t(kind.value)), list(Kind).index(kind))


def _hours(effort: Effort | None) -> Cell:
    return Cell(roadmap.hours(effort), -1 if effort is None else effort.high)


def _plan(fields: dict[str, Any]) -> Roadmap:
    """The plan as a value again."""
    return Roadmap(
        fields["root"],
        tuple(_group(one) for one in fields["groups"]),
        fields["scanned"],
        fields["lines"],
        fields["changed"],
        tuple(fields["unknown"]),
        fields["basis"],
    )


def _group(one: dict[str, Any]) -> Group:
    areas = sorted(((Area(area), number) for area, number in one["areas"].items()), key=lambda pair: -pair[1])
    effort = Effort(**one["effort"]) if one["effort"] else None
    return Group(
        one["cause"],
        Kind(one["kind"]),
        one["places"],
        one["files"],
        tuple(areas),
        effort,
        one["todo"],
        one["made"],
        tuple(one["ids"]),
        tuple(one["examples"]),
    )
