"""The index of a project's runs: where the migration stands, what to do next, what differs, what is slow, what ran."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from jumar.core.lang import pad
from jumar.core.words import counted
from jumar.report import parts
from jumar.report.card import Card
from jumar.report.page import HUES, Page, Section, Stage, Step, Tone, Verdict
from jumar.report.parts import Cell, Markup
from jumar.report.words import joined, shown, t, translate


class Run(NamedTuple):
    """Something that ran: its card, the file it was read from, and its page beside the index (or empty)."""

    card: Card
    source: str
    page: str = ""


class Left(NamedTuple):
    """A file of ours that is not on the index, and why."""

    path: str
    reason: str


class Part(NamedTuple):
    """A stage as people know it, and how to begin it; without a command it only shows when something ran."""

    title: str
    question: str
    command: str = ""


PARTS = {
    Stage.CODE: Part("Code", "What ties the project to CUDA?", "jumar analyze {project} --json > {out}analyze.json"),
    Stage.MACHINE: Part("Machine", "Are driver, CANN and frameworks right?"),
    Stage.RUNS: Part("It runs", "Does the changed code still import and run?",
                     "jumar migrate {project} --verify --json > {out}migrate.json"),
    Stage.NUMBERS: Part("Same numbers", "Does it compute the same as before?",
                        "jumar compare record -o {out}cpu.rec --floor 2 -- jumar run train.py --device cpu\n"
                        "jumar compare record -o {out}npu.rec -- jumar run train.py\n"
                        "jumar compare {out}cpu.rec {out}npu.rec --html {out}compare.html"),
    Stage.SPEED: Part("Speed", "Where does the time go?", "jumar perf lint --html {out}perf.html -- python train.py"),
    Stage.SCALE: Part("Many cards", "Does it fit on these cards?"),
    Stage.INFERENCE: Part("Inference", "Is the model ready for ATC?"),
}  # fmt: skip
MOST_STEPS = 3
"""Of one run."""


def newest(runs: Iterable[Run]) -> list[Run]:
    """The last run of each kind about each subject."""
    found: dict[tuple[str, str], Run] = {}
    for run in sorted(runs, key=lambda run: run.card.made):
        found[run.card.kind, run.card.subject] = run
    return list(found.values())


def index(folder: str, runs: Sequence[Run], left: Sequence[Left], further: Sequence[Step] = ()) -> Page:
    """The page of a whole project; `further` are steps that no single run knows of."""
    now = newest(runs)
    return Page(
        "report", t("Where the migration stands"), _name(folder), verdict(now), command=f"jumar report {folder}",
        facts=[(t("runs"), str(len(runs)))], sections=list(_sections(runs, now, left)),
        steps=steps(folder, now, further), foot=t("Every page here opens by itself and needs no network."),
    )  # fmt: skip


def verdict(now: Sequence[Run]) -> Verdict:
    """How far the project is, in one sentence."""
    needed = [stage for stage, part in PARTS.items() if part.command]
    done = [stage for stage in needed if _of(now, stage)]
    tones = {run.card.verdict.tone for run in now}
    bad = [run for run in now if run.card.verdict.tone is Tone.BAD]
    said = t("{done} of {all} stages were run", done=len(done), all=len(needed))
    if bad:
        first = bad[0].card
        name = t(PARTS[first.stages[0]].title) if first.stages else first.title
        return Verdict.bad(f"{said}; {name}: {first.verdict.text}", t("needs work"))
    if len(done) < len(needed) or Tone.WARN in tones or Tone.UNKNOWN in tones:
        return Verdict.warn(t("{said}; nothing failed", said=said), t("under way"))
    return Verdict.good(t("every stage was run, and nothing is left to do"), t("done"))


def steps(folder: str, now: Sequence[Run], further: Sequence[Step] = ()) -> list[Step]:
    """One ordered list: stage by stage, what its runs ask for, the worst first, or how to begin it."""
    missing = {stage: begin(folder, now, part) for stage, part in PARTS.items() if part.command and not _of(now, stage)}
    found: dict[Step, None] = {}
    for stage in PARTS:
        for run in sorted(_of(now, stage), key=lambda run: -list(Tone).index(run.card.verdict.tone)):
            for step in run.card.steps[:MOST_STEPS]:
                said = [*(one.command for one in found), *(one.command for one in missing.values())]
                if not step.command or not any(one.startswith(step.command) for one in said):
                    found[Step(joined(run.card.subject, t(step.why)), step.command)] = None
        if stage in missing:
            found[missing[stage]] = None
        if stage is Stage.NUMBERS:
            found.update(dict.fromkeys(further))
    return list(found)


def begin(folder: str, now: Sequence[Run], part: Part) -> Step:
    """How to begin a stage: with the project that was analyzed, and into the folder of the runs."""
    project = next((run.card.subject for run in now if run.card.kind in ("migrate", "analyze")), folder)
    out = "" if os.path.normpath(folder) == os.curdir else os.path.join(folder, "")
    return Step(joined(t(part.title), t(part.question)), part.command.format(project=project, out=out))


def stages(now: Sequence[Run]) -> list[tuple[Stage, Part, list[Run]]]:
    """The stages that are needed or have runs, in their order."""
    rows = [(stage, part, _of(now, stage)) for stage, part in PARTS.items()]
    return [row for row in rows if row[2] or row[1].command]


def _name(folder: str) -> str:
    """The project, without the folders above it: a site is handed on."""
    return os.path.basename(os.path.abspath(folder)) or folder


def _of(runs: Iterable[Run], stage: Stage) -> list[Run]:
    return [run for run in runs if stage in run.card.stages]


def _sections(runs: Sequence[Run], now: Sequence[Run], left: Sequence[Left]) -> Iterator[Section]:
    yield Section("", _standing(now))
    for stage, title in ((Stage.NUMBERS, t("What differs")), (Stage.SPEED, t("What is slow"))):
        found = [run for run in _of(now, stage) if run.card.points]
        if found:
            yield Section(title, Markup("").join(_points(run) for run in found), stage.value)
    yield Section(t("What ran"), _ran(runs), "ran")
    if left:
        rows = [(f"`{one.path}`", one.reason) for one in left]
        yield Section(t("Left out"), parts.table([t("file"), t("why")], rows, name=t("left out")), "left")


def _standing(now: Sequence[Run]) -> Markup:
    shown = Markup("").join(_stage(part, runs) for _, part, runs in stages(now))
    return Markup('<ol class="stages">{}</ol>').format(shown)


def _stage(part: Part, runs: Sequence[Run]) -> Markup:
    tone = max((run.card.verdict.tone for run in runs), key=list(Tone).index, default=None)
    said = Markup("").join(
        Markup("<p>{} {}: {}</p>").format(_badge(run.card), _link(run), parts.code(run.card.verdict.text))
        for run in runs
    )
    return Markup('<li class="{}"><h3>{} <small class="soft">{}</small></h3>{}</li>').format(
        f"c-{HUES[tone]}" if tone else "", translate(part.title), translate(part.question),
        said or Markup('<p class="soft">{}</p>').format(translate("Not run yet.")),
    )  # fmt: skip


def _badge(card: Card) -> Markup:
    return Markup('<span class="badge c-{}">{}</span>').format(HUES[card.verdict.tone], translate(card.verdict.word))


def _link(run: Run) -> Markup:
    name = Markup("<code>{}</code>").format(run.card.command)
    return Markup('<a href="{}">{}</a>').format(run.page, name) if run.page else name


def _points(run: Run) -> Markup:
    return Markup("<h3>{}</h3>{}").format(_link(run), parts.bullets(run.card.points))


def _ran(runs: Sequence[Run]) -> Markup:
    rows = [
        (Cell(run.card.made[:16].replace("T", " ") + " UTC", run.card.made), _link(run), run.card.subject,
         Cell(_badge(run.card), list(Tone).index(run.card.verdict.tone)), f"`{run.source}`", run.card.tool)
        for run in sorted(runs, key=lambda run: run.card.made, reverse=True)
    ]  # fmt: skip
    heads = [t("when"), t("command"), t("subject"), t("verdict"), t("read from"), t("Jumar")]
    return parts.table(heads, rows, name=t("runs"))


def document(folder: str, runs: Sequence[Run], left: Sequence[Left], further: Sequence[Step] = ()) -> dict[str, Any]:
    """The index for programs."""
    now = newest(runs)
    said = verdict(now)
    return {
        "kind": "report",
        "root": folder,
        "verdict": {"tone": said.tone.value, "text": said.text},
        "stages": [
            {"stage": stage.value, "runs": [run.source for run in found],
             "tone": max((run.card.verdict.tone for run in found), key=list(Tone).index).value if found else None}
            for stage, _, found in stages(now)
        ],
        "next": [step._asdict() for step in steps(folder, now, further)],
        "runs": [
            {"kind": run.card.kind, "subject": run.card.subject, "command": run.card.command, "made": run.card.made,
             "verdict": {"tone": run.card.verdict.tone.value, "text": run.card.verdict.text}, "source": run.source,
             "page": run.page or None}
            for run in runs
        ],
        "left_out": [one._asdict() for one in left],
        "errors": [],
    }  # fmt: skip


def lines(folder: str, runs: Sequence[Run], left: Sequence[Left], further: Sequence[Step] = ()) -> Iterator[str]:
    """The index at a terminal."""
    now = newest(runs)
    yield f"{_name(folder)}: {translate(verdict(now).text)}"
    for _, part, found in stages(now):
        title = pad(translate(part.title), 13)
        if not found:
            yield f"  {title} {translate('not run yet')}"
        for run in found:
            word, text = run.card.verdict.word, run.card.verdict.text
            yield f"  {title} {translate('{word}: {subject}: {told}', word=word, subject=run.card.subject, told=text)}"
    for one in left:
        yield f"  left out: `{one.path}`: {one.reason}"
    todo = steps(folder, now, further)
    if todo:
        yield translate("next ({steps}):", steps=counted(len(todo), "step"))
    for number, step in enumerate(todo, 1):
        yield f"{number:>3}. {shown(step.why)}"
        yield from (f"     {line}" for line in step.command.splitlines())
