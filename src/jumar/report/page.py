"""One frame for every page: a self-contained file with the product, what was run, the verdict, sections, next steps.

A new page needs nothing else::

    page = Page("selftest", "Does the emulator hold?", "this machine",
                Verdict.good("all 12 programs agree"), command="jumar selftest --html page.html", stages=[Stage.RUNS],
                facts=[("chip", "910B3")],
                sections=[Section("Programs", parts.table(["program", "seconds"], rows, numbers=[1], find=True))],
                steps=[Step("one program differs", "jumar compare a.rec b.rec")], points=["`mlp` is slowest"])
    text = page.html()

`jumar report` finds the page again by the JSON that it carries (`card.py`), places it in its stages, and takes over
the verdict, `points` (what is worth knowing: one sentence each) and `steps` (what to do next). Every value is escaped;
backticks in sentences become code. Fixed words go through `words.t`, and are translated where they are shown.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from dataclasses import field
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from jumar import __version__
from jumar.core.compat import StrEnum, dataclass
from jumar.core.printable import in_json, printable
from jumar.report import parts, policy, tokens
from jumar.report.words import language, shown, t, translate

if TYPE_CHECKING:
    from jinja2 import Environment

VERSION = 1
"""Of the JSON that a page carries; raised when a field changes its meaning or goes."""
MARK = "jumar-page"
"""Id of the element with that JSON."""
HOME = "<!--home-->"
"""Where a page of a site gets its way back."""


class Stage(StrEnum):
    """The parts of a migration, in their order."""

    CODE = "code"
    MACHINE = "machine"
    RUNS = "runs"
    NUMBERS = "numbers"
    SPEED = "speed"
    SCALE = "scale"
    INFERENCE = "inference"


class Tone(StrEnum):
    """What a verdict means for the reader, the worst last."""

    GOOD = "good"
    UNKNOWN = "unknown"
    WARN = "warn"
    BAD = "bad"


HUES = {Tone.GOOD: "green", Tone.UNKNOWN: "grey", Tone.WARN: "amber", Tone.BAD: "red"}


class Verdict(NamedTuple):
    """The answer in one sentence; `word` is its badge."""

    tone: Tone
    text: str
    word: str = ""

    @classmethod
    def good(cls, text: str, word: str = "") -> Verdict:
        return cls(Tone.GOOD, text, word or t("good"))

    @classmethod
    def bad(cls, text: str, word: str = "") -> Verdict:
        return cls(Tone.BAD, text, word or t("to do"))

    @classmethod
    def warn(cls, text: str, word: str = "") -> Verdict:
        return cls(Tone.WARN, text, word or t("look"))

    @classmethod
    def unknown(cls, text: str, word: str = "") -> Verdict:
        return cls(Tone.UNKNOWN, text, word or t("cannot tell"))


class Section(NamedTuple):
    """A part of a page; without a title it has no heading."""

    title: str
    body: Markup
    id: str = ""


class Step(NamedTuple):
    """Something to do: why, and the command to type (or empty)."""

    why: str
    command: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    kind: str
    """The name of the document or command; the same as `kind` in JSON."""
    title: str
    subject: str
    """What was looked at: a folder, two records, a machine."""
    verdict: Verdict
    command: str = ""
    """What was run, as far as it is known."""
    stages: Sequence[Stage] = ()
    """Parts of a migration that the verdict speaks of."""
    facts: Sequence[tuple[str, str]] = ()
    sections: Sequence[Section] = ()
    steps: Sequence[Step] = ()
    shows_steps: bool = True
    """Is `steps` more than the page says already?"""
    points: Sequence[str] = ()
    foot: str = ""
    made: float = field(default_factory=lambda: now())
    tool: str = __version__
    """The Jumar that did the work."""

    def html(self) -> str:
        """The whole file as text."""
        return printable(
            environment()
            .get_template("page.html")
            .render(
                page=self,
                policy=policy.meta(),
                script=policy.script(),
                style=Markup(tokens.css()),
                hue=HUES[self.verdict.tone],
                version=__version__,
                lang=language(),
                carried=Markup(_carried(self)),
                mark=MARK,
                home=Markup(HOME),
                made=stamp(self.made),
            )
        )

    def card(self) -> dict[str, Any]:
        """What `jumar report` reads from the page."""
        return {
            "version": VERSION,
            "tool": {"name": "jumar", "version": self.tool},
            "kind": self.kind,
            "title": self.title,
            "subject": self.subject,
            "command": self.command,
            "stages": [stage.value for stage in self.stages],
            "verdict": {"tone": self.verdict.tone.value, "text": self.verdict.text, "word": self.verdict.word},
            "points": list(self.points),
            "steps": [step._asdict() for step in self.steps],
            "made": stamp(self.made),
        }


@cache
def environment() -> Environment:
    """The templates, with what they use."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("jumar.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"code": parts.code, "count": parts.count}
    made.globals |= {"t": translate, "shown": shown, "parts": parts}
    return made


def now() -> float:
    """The date of a page; `SOURCE_DATE_EPOCH` makes two runs equal."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    return float(given) if given.isdecimal() else time.time()


def stamp(seconds: float) -> str:
    """`2026-11-17T15:02Z`."""
    return time.strftime("%Y-%m-%dT%H:%MZ", time.gmtime(seconds))


def _carried(page: Page) -> str:
    """The card as text that no browser takes for markup."""
    text = in_json(json.dumps(page.card(), ensure_ascii=False))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
