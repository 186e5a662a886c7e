"""What an engine is given, as one plain value: files, commands, and how to ask, read and cancel afterwards."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from jumar.core import write
from jumar.core.errors import UserError
from jumar.core.nearest import did_you_mean
from jumar.launch.job import Job
from jumar.runtime import tools

Words = tuple[str, ...]


@dataclass(frozen=True)
class Submission:
    engine: str
    commands: tuple[Words, ...]
    """What is started, in this order; of several machines at the same time."""
    files: tuple[tuple[str, str], ...] = ()
    """Files that are written first: path and text."""
    checks: tuple[Words, ...] = ()
    """Commands that must succeed before anything is started."""
    after: tuple[tuple[str, Words], ...] = ()
    """What can be asked later: word and command, with JOB for its number or name."""


def shown(submission: Submission) -> list[str]:
    """The whole value as text: files between their names, commands as shell lines."""
    lines = []
    for path, text in submission.files:
        lines += [f"# {path}", *text.rstrip("\n").split("\n"), ""]
    if submission.checks:
        lines += ["# first, to check that everything works", *map(shlex.join, submission.checks), ""]
    lines += ["# then", *map(shlex.join, submission.commands)]
    if submission.after:
        lines += ["", *(f"# {word}: {shlex.join(command)}" for word, command in submission.after)]
    return lines


def write_files(submission: Submission) -> None:
    """Write the files that the engine reads, on the machine that has the engine."""
    tools.require(submission.commands[0][0])
    for path, text in submission.files:
        with write.inside(Path(path).parent, "`--logs` names the folder"):
            write.replace(Path(path), text.encode())


def check_settings(given: Mapping[str, str], known: Mapping[str, str], engine: str) -> None:
    """Raise an error for a `--set` that this engine does not know."""
    for name in given:
        if name not in known:
            listed = ", ".join(f"`{one}`" for one in known)
            raise UserError(f"`--set {name}=…` is not for {engine}", did_you_mean(name, known, f"these are: {listed}"))


def node_words(job: Job, count: int, node_rank: str, master: str, port: str, name: str) -> list[str]:
    """`jumar launch` as one machine of several runs it; values that a shell fills in come as they are."""
    words = [job.python, "-m", "jumar", "launch", "--cards", str(job.cards), "--bind", job.bind, "--logs", job.logs]
    if count > 1:
        words += ["--of", str(count), "--node-rank", node_rank, "--master", master, "--port", port, "--id", name]
    elif job.port:
        words += ["--port", str(job.port)]
    for option, value, usual in (
        ("--restarts", job.restarts, 0),
        ("--until", job.until, ""),
        ("--grace", job.grace, 30),
        ("--signal", job.signal, "TERM"),
        ("--rank-table", job.rank_table, ""),
    ):
        if value != usual:
            words += [option, str(value)]
    return [*words, *job.extra]


def shell(words: list[str]) -> str:
    """Shell text of these words; one that holds a `$` is for the shell, in double quotes."""
    return " ".join(f'"{word}"' if word.startswith("$") else shlex.quote(word) for word in words)
