"""Starts a program so that it records itself: once for the record, again with noise for the floor."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jumar.compare import overflow, reader
from jumar.compare.floor import FLOORS, SIZES
from jumar.compare.overflow import Overflow
from jumar.compare.store import Rank
from jumar.core.errors import UserError
from jumar.runtime import process, variables

_ALL = 1 << 30
"""Steps to look at: more than any program has."""


class RecordRequest(NamedTuple):
    """What the user asked for beside the program."""

    steps: int = 3
    floor: int = 0
    """Runs with noise of each size."""
    seed: int | None = None
    stop: int | None = None
    tensors: tuple[int, ...] = ()
    rounded: str = ""
    watch: bool = False
    """Look at every step until an operator makes inf or nan."""


class Failed(UserError):
    """The program itself failed; it has said why."""


def record(
    words: Sequence[str], folder: Path, request: RecordRequest, tell: Callable[[str], None], quiet: bool = False
) -> int:
    """Run the program and record it; returns its exit code. Runs for the floor follow only where it went well."""
    code = _run(words, folder, request, {}, quiet)
    if not any(folder.glob("rank*/meta.json")):
        shutil.rmtree(folder, ignore_errors=True)
        if code:
            raise Failed(f"the program ended with {code} before anything was recorded", "run it without Jumar first")
        raise UserError(
            "nothing was recorded: no model ran",
            "the program must use torch of the environment that Jumar is installed in, and call a torch.nn.Module",
        )
    if code:
        return code
    sizes = [size for size in SIZES for _ in range(request.floor)]
    for number, size in enumerate(sizes, 1):
        tell(f"noise run {number} of {len(sizes)}")
        noisy = _run(words, folder / f"{FLOORS}{number}", request, {"noise": size, "noise_seed": number}, quiet=True)
        if noisy:
            shutil.rmtree(folder / f"{FLOORS}{number}", ignore_errors=True)
            raise Failed(f"the program ended with {noisy} in a run with noise", "the record itself is complete")
    return code


def watch(words: Sequence[str]) -> tuple[list[Overflow], list[Rank], int]:
    """Run a program until an operator makes inf or nan; what it was, the ranks, and the exit code of the program."""
    folder = Path(tempfile.mkdtemp(prefix="jumar-overflow-"))
    try:
        code = record(words, folder / "rec", RecordRequest(steps=_ALL, watch=True), lambda _: None)
        ranks = reader.ranks(folder / "rec")
        return overflow.first(ranks), ranks, code
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(words: Sequence[str], folder: Path, request: RecordRequest, more: dict[str, Any], quiet: bool = False) -> int:
    told = {"folder": str(folder.absolute()), "steps": request.steps, "seed": request.seed, "stop": request.stop,
            "tensors": request.tensors, "rounded": request.rounded, "watch": request.watch, **more}  # fmt: skip
    environ = {**os.environ, variables.RECORD.name: json.dumps(told)}
    argv = [sys.executable if words[0] in ("python", "python3") else words[0], *words[1:]]
    if words[0].endswith(".py"):
        argv = [sys.executable, *words]
    return process.call(argv, env=environ, stdout=process.DEVNULL if quiet else None)
