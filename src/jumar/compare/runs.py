"""Starts a program so that it records itself: once for the record, again with noise for the floor."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jumar.compare.floor import FLOORS, SIZES
from jumar.core.errors import UserError
from jumar.runtime import process, variables


class Wish(NamedTuple):
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


def record(words: Sequence[str], folder: Path, wish: Wish, tell: Callable[[str], None], quiet: bool = False) -> int:
    """Run the program and record it; returns its exit code. Runs for the floor follow only where it went well."""
    code = _run(words, folder, wish, {}, quiet)
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
    sizes = [size for size in SIZES for _ in range(wish.floor)]
    for number, size in enumerate(sizes, 1):
        tell(f"noise run {number} of {len(sizes)}")
        noisy = _run(words, folder / f"{FLOORS}{number}", wish, {"noise": size, "noise_seed": number}, quiet=True)
        if noisy:
            shutil.rmtree(folder / f"{FLOORS}{number}", ignore_errors=True)
            raise Failed(f"the program ended with {noisy} in a run with noise", "the record itself is complete")
    return code


def _run(words: Sequence[str], folder: Path, wish: Wish, more: dict[str, Any], quiet: bool = False) -> int:
    told = {"folder": str(folder.absolute()), "steps": wish.steps, "seed": wish.seed, "stop": wish.stop,
            "tensors": wish.tensors, "rounded": wish.rounded, "watch": wish.watch, **more}  # fmt: skip
    environ = {**os.environ, variables.RECORD.name: json.dumps(told)}
    argv = [sys.executable if words[0] in ("python", "python3") else words[0], *words[1:]]
    if words[0].endswith(".py"):
        argv = [sys.executable, *words]
    return process.call(argv, env=environ, stdout=process.DEVNULL if quiet else None)
