"""A file that is not Python as the rules see it: scripts, entries and requirements in it, all with their places."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator
from pathlib import PurePath

from jumar.core.edit import Edit
from jumar.core.finding import Finding, Level, Safety, State
from jumar.core.source import Source
from jumar.migrate import engine, rule
from jumar.migrate.document import Document, Span
from jumar.migrate.engine import Outcome, Round
from jumar.migrate.rule import Unit
from jumar.migrate.settings import Settings
from jumar.migrate.syntax.dockerfile import Instruction
from jumar.migrate.syntax.entry import ConfigEntry
from jumar.migrate.syntax.shell import Assignment, Command, Script

_CI = re.compile(
    r"(?:^|/)(?:\.github|\.gitlab|\.circleci|\.buildkite|\.ci)/|(?:^|/)(?:\.gitlab-ci|\.travis|azure-pipelines|appveyor|\.pre-commit-config|\.readthedocs)\.ya?ml$"
)


class TextFile(Document):
    def __init__(self, source: Source, settings: Settings) -> None:
        super().__init__(source, settings)
        self.name = PurePath(source.path).name
        self.is_ci = bool(_CI.search(source.path))
        """Does the file belong to a build service, not to the program?"""
        self._marks = bytearray(len(source.data))
        self._marked = 0
        self.scripts: list[Script] = []
        self.lone_assignments: set[int] = set()
        """Starts of assignments that cannot have another one on their line: variables of a Makefile."""
        self.entries: list[ConfigEntry] = []
        self.telling_entries: list[ConfigEntry] = []
        """Those of them that hold a word of some rule."""
        self.previous: ConfigEntry | None = None
        """The entry before the one that is visited: `--device` before `cuda` in a list of arguments."""
        self.instructions: list[Instruction] = []
        self.requirement_spans: list[Span] = []
        """Requirements and index addresses, for the rule that looks at what is left."""
        self.script_spans: list[Span] = []
        """Stretches that were read as shell text."""

    def telling(self, text: str) -> str | None:
        """The first word in a text that makes it worth a closer look."""
        return rule.telling(text, self.settings)

    def is_covered(self, start: int, end: int) -> bool:
        """Has some rule spoken about a part of this stretch?"""
        for first, last in self.covered[self._marked :]:
            self._marks[first:last] = b"\1" * (last - first)
        self._marked = len(self.covered)
        return self._marks.find(1, start, end) >= 0

    def by_hand(self, edits: tuple[Edit, ...]) -> str:
        new = " ".join(edit.new.decode() for edit in edits).strip()
        return f"on an Ascend machine use `{new}` here" if new else "choose another one on an Ascend machine"

    def within(self, span: Span, text: str) -> Span | None:
        """Where `text` stands in a stretch, if it stands there exactly once."""
        raw, word = self.source.data[span[0] : span[1]], text.encode()
        if not word or raw.count(word) != 1:
            return None
        at = span[0] + raw.index(word)
        return at, at + len(word)

    def line_span(self, at: int) -> Span:
        """The line around an offset without its line end."""
        line = self.source.line_of(at)
        start = self.source.starts[line - 1]
        return start, start + len(self.source.line_text(line))

    @property
    def commands(self) -> Iterator[Command]:
        return (command for script in self.scripts for command in script.commands)

    @property
    def assignments(self) -> Iterator[tuple[Assignment, Command]]:
        return ((assignment, command) for command in self.commands for assignment in command.assignments)


def migrate_text(
    source: Source,
    settings: Settings,
    languages: tuple[str, ...],
    read: Callable[[TextFile, list[Unit]], Iterator[Finding]],
) -> Outcome:
    """Run the rules of some languages over a text; `read` finds its parts and shows them to the rules."""
    known = [unit for language in languages for unit in rule.active(language, settings)]
    active = engine.select(known, source.data, settings)
    if not active:
        return Outcome([], source.data)

    def run_round(current: Source) -> Round:
        file = TextFile(current, settings)
        findings = [*read(file, active), *visit(active, "finish", file)]
        if file.is_ci:
            findings = [_of_build_service(finding) for finding in findings]
        return engine.settled(current, findings, settings)

    return engine.until_stable(source, run_round)


def _of_build_service(finding: Finding) -> Finding:
    """What stands in a CI file tests the project on the service's machines; it is not part of the program."""
    message = f"{finding.message} (left alone: a build service file)"
    return dataclasses.replace(
        finding, message=message, level=Level.NOTE, state=State.BENIGN, safety=Safety.SHOW, edits=(), fix=None
    )


def visit(active: list[Unit], name: str, *args: object) -> Iterator[Finding]:
    """Call one kind of visitor of every active rule."""
    for unit in active:
        visitor = unit.visitors.get(name)
        if visitor is not None:
            yield from visitor(*args)
