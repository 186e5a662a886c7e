"""Makefiles: recipes are shell text, variables are assignments."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.core.finding import Finding
from jumar.core.source import Source
from jumar.migrate.engine import Outcome
from jumar.migrate.languages import shell
from jumar.migrate.rule import Unit
from jumar.migrate.settings import Settings
from jumar.migrate.syntax import makefile
from jumar.migrate.syntax.shell import Assignment, Command, Script, Word
from jumar.migrate.textfile import TextFile, migrate_text, visit

NAMES = r"(?:GNU)?[Mm]akefile(?:\..*)?|.*\.mk"


def migrate(source: Source, settings: Settings) -> Outcome:
    return migrate_text(source, settings, shell.RULES, _read)


def _read(file: TextFile, active: list[Unit]) -> Iterator[Finding]:
    for part in makefile.parts(file.source.data):
        if part.kind == "variable":
            text = file.text((part.start, part.end))
            value = Word(part.start, part.end, text, False, "$" in text)
            name_end = part.name_start + len(part.name.encode())
            assignment = Assignment(part.name, part.name_start, name_end, value)
            command = Command(part.name_start, part.end, (assignment,))
            file.scripts.append(Script([command]))
            file.lone_assignments.add(part.name_start)
            yield from visit(active, "visit_assignment", assignment, command, file)
        else:
            yield from shell.read(file, active, part.start, part.end)
