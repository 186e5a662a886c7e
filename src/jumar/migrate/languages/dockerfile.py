"""Dockerfiles: `RUN` lines are shell text, `ENV` and `ARG` are assignments, the rest are instructions."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.core.finding import Finding
from jumar.core.source import Source
from jumar.migrate.engine import Outcome
from jumar.migrate.languages import shell
from jumar.migrate.rule import Unit
from jumar.migrate.settings import Settings
from jumar.migrate.syntax import dockerfile
from jumar.migrate.textfile import TextFile, migrate_text, visit

NAMES = r"(?:.*[._-])?(?:Dockerfile|Containerfile)(?:[._-].*)?|.*\.dockerfile"


def migrate(source: Source, settings: Settings) -> Outcome:
    return migrate_text(source, settings, shell.RULES, _read)


def _read(file: TextFile, active: list[Unit]) -> Iterator[Finding]:
    file.instructions = list(dockerfile.instructions(file.source.data))
    for instruction in file.instructions:
        yield from visit(active, "visit_instruction", instruction, file)
        if instruction.name in ("RUN", "ENV", "ARG", "CMD", "ENTRYPOINT", "SHELL", "HEALTHCHECK"):
            yield from shell.read(file, active, _without_flags(file.source.data, instruction), instruction.end)


def _without_flags(data: bytes, instruction: dockerfile.Instruction) -> int:
    """Behind `--mount=… ` and the like."""
    at = instruction.start
    while data.startswith(b"--", at) and at < instruction.end:
        stop = data.find(b" ", at, instruction.end)
        at = instruction.end if stop < 0 else stop + 1
    return at
