"""A device or backend on a command line: `--device cuda`, `--dist-backend=nccl`, `trainer.accelerator=gpu`.

A variable that is handed to such an option is judged by it: `DEVICE=cuda` with `--device $DEVICE`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.document import ONLY_NPU, Span
from jumar.migrate.passes.torch import values
from jumar.migrate.rule import Rule
from jumar.migrate.syntax.shell import Assignment, Command, Word, options
from jumar.migrate.textfile import TextFile

RULE = Rule(
    id="SH105",
    name="device-option",
    summary="a device, backend or number of GPUs on a command line",
    keywords=("cuda", "nccl", "gpu", "flash_attention"),
)
_DEFAULT = re.compile(r"\$\{\w+:?[-=]([^${}]*)\}")
_ASKING = frozenset({"[", "[[", "test", "case"})
_REFERENCE = re.compile(r"\$\{?(\w+)(?::?[-=][^${}]*)?\}?")


def visit_assignment(assignment: Assignment, command: Command, file: TextFile) -> Iterator[Finding]:
    word = assignment.value
    value = _plain(word.text)
    if not file.telling(value) or file.is_covered(word.start, word.end) or _is_compared(assignment.name, file):
        return
    found = {values.judge(name.rpartition(".")[2], value) for name in _given_to(assignment.name, file)}
    judged = found.pop() if len(found) == 1 else None
    if judged is not None and judged.new is not None:
        judged = judged._replace(message=f"variable `{assignment.name}`: {judged.message}")
        yield from _say(file, assignment.name, value, (assignment.start, word.end), word, judged)


def visit_command(command: Command, file: TextFile) -> Iterator[Finding]:
    for name, value, word, start in options(command):
        found = values.judge(name.rpartition(".")[2], _plain(value))
        if found is None or file.is_covered(word.start, word.end):
            continue
        found = found._replace(message=f"option `{name}`: {found.message}")
        yield from _say(file, name, _plain(value), (start, word.end), word, found)


def _plain(value: str) -> str:
    """What stands there, or the default of `${X:-…}`."""
    default = _DEFAULT.fullmatch(value)
    return default.group(1) if default else value


def _given_to(variable: str, file: TextFile) -> Iterator[str]:
    """The options that get the value of a variable."""
    for command in file.commands:
        for name, value, _, _ in options(command):
            reference = _REFERENCE.fullmatch(value)
            if reference and reference.group(1) == variable:
                yield name


def _is_compared(variable: str, file: TextFile) -> bool:
    """Does the script ask for the value itself: `[ "$DEVICE" = cuda ]`, `case $DEVICE in`?"""
    return any(
        command.name in _ASKING
        and any((one := _REFERENCE.fullmatch(word.text)) and one.group(1) == variable for word in command.words)
        for command in file.commands
    )


def _say(file: TextFile, name: str, value: str, at: Span, word: Word, found: values.Judgement) -> Iterator[Finding]:
    if found.new is None:
        yield file.report(RULE, at, found.state, found.message, found.fix, subject=name)
        return
    inside = file.within((word.start, word.end), value) if word.text == value else _behind(file, word, value)
    if inside is None:
        yield file.report(RULE, at, State.HAND, found.message, f"write `{found.new}`", subject=name)
        return
    yield file.rewrite(
        RULE,
        at,
        found.message,
        file.replace(inside, found.new),
        at_run_time=True,
        subject=name,
        styles=ONLY_NPU,
    )


def _behind(file: TextFile, word: Word, value: str) -> tuple[int, int] | None:
    """The value behind `=` or inside `${X:-…}`: the last time it stands in the word."""
    raw = file.source.data[word.start : word.end]
    at = raw.rfind(value.encode())
    return (word.start + at, word.start + at + len(value.encode())) if at >= 0 else None
