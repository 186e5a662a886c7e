"""Shell scripts, Slurm batch files and `.env` files; also what other files hold of shell text."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator

from jumar.core.finding import Finding
from jumar.core.source import Source
from jumar.migrate.engine import Outcome
from jumar.migrate.languages import requirements
from jumar.migrate.rule import Unit
from jumar.migrate.settings import Settings
from jumar.migrate.syntax import shell_reader
from jumar.migrate.syntax.shell import Command, Script, Word
from jumar.migrate.textfile import TextFile, migrate_text, visit

SUFFIXES = (".sh", ".bash", ".zsh", ".ksh", ".slurm", ".sbatch", ".pbs", ".lsf", ".env")
NAMES = r"\.env(?:\..*)?|\.?(?:bashrc|bash_profile|profile|zshrc)"
INTERPRETER = re.compile(rb"\b(?:ba|z|k|da)?sh\b")
RULES = ("shell", "requirements")
_DIRECTIVE = re.compile(rb"#(?:SBATCH|PBS|BSUB|FLUX|\$)[ \t]+")
_RUNS_TEXT = frozenset(
    {"bash", "sh", "zsh", "dash", "eval", "ssh", "su", "pdsh", "srun", "sbatch", "docker", "singularity"}
)


def migrate(source: Source, settings: Settings) -> Outcome:
    return migrate_text(source, settings, RULES, _read)


def _read(file: TextFile, active: list[Unit]) -> Iterator[Finding]:
    yield from read(file, active, 0, len(file.source.data))


def read(file: TextFile, active: list[Unit], start: int, end: int) -> Iterator[Finding]:
    """Show the commands between two offsets to the rules."""
    data = file.source.data
    script = shell_reader.parse(data, start, end)
    _read_strings(file, script)
    file.scripts.append(script)
    file.script_spans.append((start, end))
    for first, last in script.comments:
        if _DIRECTIVE.match(data, first, last):
            yield from visit(active, "visit_directive", (first, last), file)
    for command in script.commands:
        for assignment in command.assignments:
            yield from visit(active, "visit_assignment", assignment, command, file)
        if command.words and not command.is_array:
            yield from requirements.installed(command, file, active)
        for first, last in _heredocs(command):
            if last - first >= end - start:
                continue
            yield from read(file, active, first, last)
        if command.words or command.heredocs:
            yield from visit(active, "visit_command", command, file)
    for reference in script.references:
        yield from visit(active, "visit_reference", reference, file)


def _heredocs(command: Command) -> list[tuple[int, int]]:
    """Here-documents that a shell runs: `bash <<EOF`, and `RUN <<EOF` of a Dockerfile."""
    runs = command.name in ("", "bash", "sh", "zsh") and all(word.text.startswith("-") for word in command.words[1:2])
    return [(heredoc.start, heredoc.end) for heredoc in command.heredocs if runs]


def _read_strings(file: TextFile, script: Script) -> None:
    """Quoted strings that hold a command line are read as well."""
    for command in list(script.commands):
        runs = command.name.rpartition("/")[2] in _RUNS_TEXT
        values = [(assignment.value, True) for assignment in command.assignments]
        values += [(word, not runs) for word in command.words[1:] if runs or command.is_array]
        for word, is_text in values:
            if word.is_quoted and any(char in word.text for char in " \n") and file.telling(word.text):
                _read_string(file.source.data, script, word, is_text)


def _read_string(data: bytes, script: Script, word: Word, is_text: bool) -> None:
    if data[word.start : word.start + 1] not in (b"'", b'"') or data[word.end - 1 : word.end] not in (b"'", b'"'):
        return
    found = shell_reader.parse(data, word.start + 1, word.end - 1, depth=1)
    script.commands += [dataclasses.replace(command, is_text=is_text) for command in found.commands]
    script.comments += [] if is_text else found.comments
