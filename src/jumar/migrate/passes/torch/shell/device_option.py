"""A device or backend on a command line: `--device cuda`, `--dist-backend=nccl`, `trainer.accelerator=gpu`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.document import ONLY_NPU, Span
from jumar.migrate.passes.torch import values
from jumar.migrate.rule import Rule
from jumar.migrate.syntax.shell import Command, Word, options
from jumar.migrate.textfile import TextFile

RULE = Rule(
    id="SH105",
    name="device-option",
    summary="a device, backend or number of GPUs on a command line",
    keywords=("cuda", "nccl", "gpu", "flash_attention"),
)
_DEFAULT = re.compile(r"\$\{\w+:?[-=]([^${}]*)\}")


def visit_command(command: Command, file: TextFile) -> Iterator[Finding]:
    for name, value, word, start in options(command):
        default = _DEFAULT.fullmatch(value)
        found = values.judge(name.rpartition(".")[2], default.group(1) if default else value)
        if found is None or file.is_covered(word.start, word.end):
            continue
        yield from _say(file, name, default.group(1) if default else value, (start, word.end), word, found)


def _say(file: TextFile, name: str, value: str, at: Span, word: Word, found: values.Judgement) -> Iterator[Finding]:
    if found.new is None:
        yield file.report(RULE, at, found.state, f"option `{name}`: {found.message}", found.fix, subject=name)
        return
    inside = file.within((word.start, word.end), value) if word.text == value else _behind(file, word, value)
    if inside is None:
        yield file.report(
            RULE, at, State.HAND, f"option `{name}`: {found.message}", f"write `{found.new}`", subject=name
        )
        return
    yield file.rewrite(
        RULE,
        at,
        f"option `{name}`: {found.message}",
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
