"""Starts a program so that it records itself: once for the record, again with noise for the floor."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jumar.compare import store
from jumar.compare.floor import FLOORS, SIZES
from jumar.compare.start import VARIABLE
from jumar.core.errors import UserError

SLOWER = 1.5
"""A run with noise takes about this much longer."""
SOON = 60.0
"""Seconds that noise runs may take whatever the program took."""
SHARE = 0.1
"""Part of the program's own time that they may take otherwise."""


class Wish(NamedTuple):
    """What the user asked for beside the program."""

    steps: int = 3
    floor: int | None = 0
    """Runs with noise of each size; None decides by what they cost."""
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
    began = time.time()
    code = _run(words, folder, wish, {}, quiet)
    if not any(folder.glob("rank*/meta.json")):
        shutil.rmtree(folder, ignore_errors=True)
        if code:
            raise Failed(f"the program ended with {code} before anything was recorded", "run it without Jumar first")
        raise UserError(
            "nothing was recorded: no model ran",
            "the program must use torch of the environment that Jumar is installed in, and call a torch.nn.Module",
        )
    store.amend(folder, exit_code=code)
    if code:
        return code
    if wish.floor is None:
        count = _affordable(folder, time.time() - began, tell)
        short = wish._replace(floor=count, stop=min(wish.steps, wish.stop or wish.steps))
        _floor(words, folder, short, tell, must=False)
    else:
        _floor(words, folder, wish, tell, must=True)
    return code


def _floor(words: Sequence[str], folder: Path, wish: Wish, tell: Callable[[str], None], *, must: bool) -> None:
    """The runs with noise; where nobody asked for them, one that fails takes the floor away and nothing else."""
    sizes = [size for size in SIZES for _ in range(wish.floor or 0)]
    store.amend(folder, floor_planned=len(sizes))
    for number, size in enumerate(sizes, 1):
        tell(f"noise run {number} of {len(sizes)}")
        place = folder / f"{FLOORS}{number}"
        code = _run(words, place, wish, {"noise": size, "noise_seed": number}, quiet=True)
        if not code:
            store.amend(place, exit_code=code)
            continue
        if must:
            shutil.rmtree(place, ignore_errors=True)
            raise Failed(f"the program ended with {code} in a run with noise", "the record itself is complete")
        tell(f"no noise floor: the program ended with {code} in a run with noise")
        for done in folder.glob(f"{FLOORS}*"):
            shutil.rmtree(done, ignore_errors=True)
        store.amend(folder, floor_planned=0)
        return


def _affordable(folder: Path, seconds: float, tell: Callable[[str], None]) -> int:
    """Noise runs of each size: one if all of them together are a small part of the program, or done soon anyway."""
    taken = [json.loads(path.read_bytes()).get("seconds") for path in folder.glob("rank*/meta.json")]
    cost = SLOWER * len(SIZES) * max((one for one in taken if one), default=seconds)
    if cost <= max(SOON, SHARE * seconds):
        return 1
    tell(f"no noise floor: it would take about {cost:.0f} s; `--floor 1` measures it")
    return 0


def _run(words: Sequence[str], folder: Path, wish: Wish, more: dict[str, Any], quiet: bool = False) -> int:
    told = {"folder": str(folder.absolute()), "steps": wish.steps, "seed": wish.seed, "stop": wish.stop,
            "tensors": wish.tensors, "rounded": wish.rounded, "watch": wish.watch, "began": time.time(),
            **more}  # fmt: skip
    variables = {**os.environ, VARIABLE: json.dumps(told)}
    argv = [sys.executable if words[0] in ("python", "python3") else words[0], *words[1:]]
    if words[0].endswith(".py"):
        argv = [sys.executable, *words]
    try:
        return subprocess.run(argv, env=variables, stdout=subprocess.DEVNULL if quiet else None, check=False).returncode
    except OSError as error:
        raise UserError(f"cannot start `{words[0]}`: {error.strerror}") from error
