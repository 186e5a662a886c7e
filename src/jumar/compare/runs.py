"""Starts a program so that it records itself: once for the record, again with noise for the floor."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jumar.compare import model, overflow, reader, store
from jumar.compare.floor import FLOORS, SIZES
from jumar.compare.overflow import Overflow
from jumar.compare.store import Rank
from jumar.core import read
from jumar.core.errors import UserError
from jumar.runtime import process, variables

_ALL = 1 << 30
"""Steps to look at: more than any program has."""

SLOWER = 1.5
"""A run with noise takes about this much longer."""
SOON = 60.0
"""Seconds that noise runs may take whatever the program took."""
SHARE = 0.1
"""Part of the program's own time that they may take otherwise."""


class RecordRequest(NamedTuple):
    """What the user asked for beside the program."""

    steps: int = 3
    floor: int | None = 0
    """Runs with noise of each size; None decides by what they cost."""
    seed: int | None = None
    stop: int | None = None
    tensors: tuple[int, ...] = ()
    rounded: str = ""
    card: str = "910B3"
    """The chip whose arithmetic a further run imitates, where the program has products that it computes otherwise."""
    watch: bool = False
    """Look at every step until an operator makes inf or nan."""


class Failed(UserError):
    """The program itself failed; it has said why."""


def record(
    words: Sequence[str], folder: Path, request: RecordRequest, tell: Callable[[str], None], quiet: bool = False
) -> int:
    """Run the program and record it; returns its exit code. Runs for the floor follow only where it went well."""
    began = time.time()
    code = _run(words, folder, request, {}, quiet)
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
    if request.floor is None:
        count = _affordable(folder, time.time() - began, tell)
        short = request._replace(floor=count, stop=min(request.steps, request.stop or request.steps))
        _floor(words, folder, short, tell, must=False)
        _imitate(words, folder, short, tell)
    else:
        _floor(words, folder, request, tell, must=True)
        _imitate(words, folder, request, tell)
    return code


def _imitate(words: Sequence[str], folder: Path, request: RecordRequest, tell: Callable[[str], None]) -> None:
    """The run with a card's arithmetic; nobody asked for it, so one that fails takes nothing else away."""
    formats = model.default(request.card)
    first = reader.ranks(folder)[0]
    if not request.floor or not first.steps or model.formats_of(first) is not None:
        return
    if not model.matters(reader.read_step(first.steps[min(first.steps)]).entries, formats):
        return
    tell(f"run with the arithmetic of {request.card}: {model.words(formats)}")
    place = folder / model.FOLDER
    code = _run(words, place, request, {"card": formats}, quiet=True)
    if code:
        shutil.rmtree(place, ignore_errors=True)
        tell(f"no model of the card: the program ended with {code} in that run")
    else:
        store.amend(place, exit_code=code)


def _floor(
    words: Sequence[str], folder: Path, request: RecordRequest, tell: Callable[[str], None], *, must: bool
) -> None:
    """The runs with noise; where nobody asked for them, one that fails takes the floor away and nothing else."""
    sizes = [size for size in SIZES for _ in range(request.floor or 0)]
    store.amend(folder, floor_planned=len(sizes))
    for number, size in enumerate(sizes, 1):
        tell(f"noise run {number} of {len(sizes)}")
        place = folder / f"{FLOORS}{number}"
        code = _run(words, place, request, {"noise": size, "noise_seed": number}, quiet=True)
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
    taken = [read.decoded(read.content(path)).get("seconds") for path in folder.glob("rank*/meta.json")]
    cost = SLOWER * len(SIZES) * max((one for one in taken if one), default=seconds)
    if cost <= max(SOON, SHARE * seconds):
        return 1
    tell(f"no noise floor: it would take about {cost:.0f} s; `--floor 1` measures it")
    return 0


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
            "tensors": request.tensors, "rounded": request.rounded, "watch": request.watch, "began": time.time(),
            **more}  # fmt: skip
    # jumar.pth looks at one variable, which may be empty: nobody has decided about emulation.
    environ = {variables.EMULATE.name: "", **os.environ, variables.RECORD.name: json.dumps(told)}
    argv = [sys.executable if words[0] in ("python", "python3") else words[0], *words[1:]]
    if words[0].endswith(".py"):
        argv = [sys.executable, *words]
    return process.call(argv, env=environ, stdout=process.DEVNULL if quiet else None)
