"""Runs a function on several emulated cards at once: one process imports torch, its children are the ranks."""

from __future__ import annotations

import json
import subprocess
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from program_files import program_text


class Outcome(NamedTuple):
    codes: list[int]
    said: list[list[Any]]  # by rank, in the order of the calls of `say`
    errors: list[str]
    stderr: str


Ranks = Callable[..., Outcome]


def run_ranks(
    run: Callable[..., subprocess.CompletedProcess[str]],
    folder: Path,
    size: int,
    source: str,
    check: bool,
    limit: float = 300,
    **variables: str,
) -> Outcome:
    given = {"RANKS_FOLDER": str(folder), "RANKS_SIZE": str(size), "RANKS_SOURCE": textwrap.dedent(source)}
    done = run(program_text(__file__, "fork_ranks"), limit=limit, **given, **variables)
    codes = json.loads(done.stdout.splitlines()[-1])
    said = [_lines(folder / f"out-{rank}") for rank in range(size)]
    errors = [_text(folder / f"error-{rank}") for rank in range(size)]
    if check and any(codes):
        pytest.fail(f"ranks ended with {codes}\n{done.stderr[-6000:]}")
    return Outcome(codes, said, errors, done.stderr)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in _text(path).splitlines()]
