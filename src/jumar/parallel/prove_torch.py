"""The proof of a plan for PyTorch: its own program as one rank of all cards in a dry run, at its full size."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from jumar.core.errors import UserError
from jumar.core.read import content, decoded
from jumar.parallel import code, code_torch, programs, provable
from jumar.parallel.plan import Job
from jumar.parallel.prove import SPARE, Proof, Proven, available, reason_in, watched
from jumar.parallel.search import Found, Search
from jumar.runtime import variables

PLAN, MEASURED = "jumar_plan.py", "jumar_measured.py"
"""Names that no model of a user has: his folder is on the path too."""
PASSES = 3
"""Backward passes before the optimizer's step, at most: more of them need no more memory."""


def prove(
    search: Search, found: Found, starter: Sequence[str], *, depth: int | None = None, limit: float = 600
) -> Proven:
    """Train a few steps without arithmetic as the first rank, and compare its peak."""
    reason = provable.reason(search.net, found.plan)
    if reason:
        raise UserError(f"cannot prove `{found.plan.name}`: {reason}", "choose another plan, or leave out `--prove`")
    small, chosen, shrunk = _reduced(search, found, depth)
    row = _run(small, chosen, starter, limit)
    what = f"{chosen.plan.cards} cards, {small.job.global_batch} samples a step"
    return Proven(found.plan.name, chosen.layers, shrunk, [row], "dry run", what)


def _reduced(search: Search, found: Found, depth: int | None) -> tuple[Search, Found, bool]:
    """The plan with few passes and, where it is asked for, fewer layers; the prediction is made for the same."""
    net, plan = search.net, found.plan
    each = search.job.global_batch // plan.micro_batches
    plan = plan._replace(micro_batches=min(plan.micro_batches, PASSES))
    shrunk = bool(depth and net.family != "traced" and depth < net.layers)
    if net.family != "traced":
        net = net.with_(layers=depth if shrunk else net.layers, tied=False)  # the written network has a head of its own
    small = Search(net, Job(each * plan.micro_batches, search.job.optimizer), search.hardware)
    chosen = small.evaluate(plan, search.hardware.usable, (small.depth,))
    assert chosen is not None
    return small, chosen, shrunk


def _run(search: Search, found: Found, starter: Sequence[str], limit: float) -> Proof:
    net, plan = search.net, found.plan
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="jumar-prove-") as name:
        folder = Path(name)
        environ = {variables.EMULATE.name: "1", **_write(search, found, folder)}
        words = [*starter, "--world", str(plan.cards), "--rank", "0", MEASURED]
        output = watched(words, folder, environ, limit, available() - SPARE)
        told = folder / "rank_0.json"
        if not told.exists():
            raise UserError(f"the dry run of `{plan.name}` failed: {reason_in(output)}", "`--code torch` prints it")
        measured = decoded(content(told))
    volume = sum(search.clock.volume(plan, found.layers, 0))
    peak, spent = max(measured["peaks"].values()), time.monotonic() - began
    return Proof(0, 0, found.peak, peak, volume, measured["volume"], spent, net.layers)


def _write(search: Search, found: Found, folder: Path) -> dict[str, str]:
    """The program and its words; the variables that it needs."""
    net, plan = search.net, found.plan
    (folder / PLAN).write_text(code_torch.program(net, search.job, found), encoding="utf-8")
    (folder / MEASURED).write_text(programs.source("torch_step"), encoding="utf-8")
    given = {**code.words(net, search.job, found), "module": "model", "family": net.family, "dp": plan.dp,
             "computed": net.computed, "kept": net.kept}  # fmt: skip
    environ = {}
    if net.family == "traced":
        path = given["file"]
        given["module"] = Path(path).stem
        places = [os.path.dirname(path), os.environ.get("PYTHONPATH", "")]
        environ["PYTHONPATH"] = os.pathsep.join(filter(None, places))
    else:
        (folder / "model.py").write_text(programs.source("torch_model"), encoding="utf-8")
    (folder / "words.json").write_text(json.dumps(given))
    return environ
