"""The proof of a plan for PyTorch: its own program on emulated NPUs, with a network that this machine can train."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Sequence
from math import gcd
from pathlib import Path

from jumar.core.errors import UserError
from jumar.parallel import code, code_torch, programs, provable
from jumar.parallel.network import Network
from jumar.parallel.plan import Job
from jumar.parallel.prove import GIB, SPARE, Proof, Proven, available, reason_in, watched
from jumar.parallel.search import Found, Search

EACH = 600 << 20
"""Memory of a process before it has a tensor: torch, torch_npu and the emulator."""
WORK = 2e10
"""Operations of all cards in a step that a CPU does within seconds."""
DEPTHS = (2, 4)
PLAN, MEASURED = "jumar_plan.py", "jumar_measured.py"
"""Names that no model of a user has: his folder is on the path too."""
SAMPLES, PASSES = 2, 3
"""Samples of a data-parallel rank in one pass, and passes before the optimizer's step, at most."""


def prove(
    search: Search, found: Found, starter: Sequence[str], *, depth: int | None = None, limit: float = 600
) -> Proven:
    """Train a few steps at two depths, compare each rank's peak, and go on to the whole depth along a line."""
    reason = provable.reason(search.net, found.plan)
    if reason:
        raise UserError(f"cannot prove `{found.plan.name}`: {reason}", "choose another plan, or leave out `--prove`")
    fixed = search.net.family == "traced"
    depths = [search.net.layers] if fixed else [depth or DEPTHS[0], 2 * depth if depth else DEPTHS[1]]
    deepest = _small(search, found, depths[-1])
    searches = [*(_at_depth(deepest, layers) for layers in depths[:-1]), deepest]
    rows = [_run(small, chosen, starter, limit) for small, chosen in searches]
    if len(rows) == 2 and search.net.layers > depths[1]:
        rows.append(_whole(searches[-1], rows, search.net.layers))
    small, chosen = searches[-1]
    what = f"batch {small.job.global_batch}" if fixed else (
        f"width {small.net.hidden}, {small.net.seq} tokens, batch {small.job.global_batch}"
    )  # fmt: skip
    return Proven(found.plan.name, chosen.layers, not fixed, rows, "emulator", f"{chosen.plan.cards} cards, {what}")


def _small(search: Search, found: Found, layers: int) -> tuple[Search, Found]:
    """The same kind of plan for a network that this machine can train."""
    plan, net = found.plan, search.net
    while plan.cards > provable.PROCESSES:
        plan = plan._replace(dp=plan.dp // 2, ep=gcd(plan.ep, plan.dp // 2))
    each = search.job.global_batch // found.plan.dp // plan.micro_batches
    if net.family != "traced":
        each = min(each, SAMPLES if net.heads else 256)
        plan = plan._replace(micro_batches=min(plan.micro_batches, PASSES))
    job = Job(plan.dp * plan.micro_batches * each, search.job.optimizer)
    if net.family != "traced":
        net = net.with_(layers=layers, tied=False)
    room = available() - SPARE
    while True:
        small = Search(net, job, search.hardware)
        chosen = small.evaluate(plan, search.hardware.usable, (small.depth,))
        assert chosen is not None
        needed = plan.cards * (chosen.peak + EACH)
        if needed <= room and 3 * net.flops * job.global_batch <= WORK:
            return small, chosen
        narrower = _narrower(net, plan.tp)
        if narrower is None:
            raise UserError(
                f"this machine has too little memory to prove `{found.plan.name}`: {needed / GIB:.1f} GiB of "
                f"{room / GIB:.1f}",
                "prove a plan with fewer cards or a smaller batch",
            )
        net = narrower


def _at_depth(other: tuple[Search, Found], layers: int) -> tuple[Search, Found]:
    """The same with so many layers: a line through two depths needs equal widths and batches."""
    search, found = other
    small = Search(search.net.with_(layers=layers), search.job, search.hardware)
    chosen = small.evaluate(found.plan, search.hardware.usable, (small.depth,))
    assert chosen is not None
    return small, chosen


def _narrower(net: Network, tp: int) -> Network | None:
    """Half the width or half the tokens; nothing if it cannot get smaller."""
    if net.family == "traced":
        return None
    if net.picture:
        side = net.picture.side // 2 // net.picture.patch * net.picture.patch
        small = net.picture._replace(side=side)
        if small.patches >= 16:
            return net.with_(picture=small, seq=small.tokens, input_bytes=small.bytes)
    elif net.seq > 128:
        return net.with_(seq=net.seq // 2, input_bytes=net.seq * 4)
    if net.hidden // 2 < 128 or (net.heads and net.heads // 2 % tp):
        return None
    if not net.heads:
        wide = net.hidden // 2
        return net.with_(hidden=wide, inner=net.inner // 2 // tp * tp, input_bytes=wide * 4)
    heads = net.heads // 2
    groups = max(tp, net.kv_heads // 2)
    inner, vocab = net.inner // 2 // (8 * tp) * (8 * tp), net.vocab // 2 // (8 * tp) * (8 * tp)
    groups = groups if heads % groups == 0 else heads
    return net.with_(hidden=net.hidden // 2, heads=heads, kv_heads=groups, inner=inner, vocab=vocab)


def _run(search: Search, found: Found, starter: Sequence[str], limit: float) -> Proof:
    net, plan = search.net, found.plan
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="jumar-prove-") as name:
        folder = Path(name)
        (folder / PLAN).write_text(code_torch.program(net, search.job, found), encoding="utf-8")
        (folder / MEASURED).write_text(programs.source("torch_step"), encoding="utf-8")
        given = {**code.words(net, search.job, found), "module": "model", "family": net.family, "dp": plan.dp,
                 "computed": net.computed, "kept": net.kept}  # fmt: skip
        variables = {"OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) // plan.cards))}
        if net.family == "traced":
            path = given["file"]
            given["module"] = Path(path).stem
            places = [os.path.dirname(path), os.environ.get("PYTHONPATH", "")]
            variables["PYTHONPATH"] = os.pathsep.join(filter(None, places))
        else:
            (folder / "model.py").write_text(programs.source("torch_model"), encoding="utf-8")
        (folder / "words.json").write_text(json.dumps(given))
        words = [*starter, "--cards", str(plan.cards), "--bind", "none", "--logs", str(folder / "logs"), MEASURED]
        output = watched(words, folder, variables, limit, available() - SPARE)
        ranks = [json.loads(path.read_text()) for path in sorted(folder.glob("rank_*.json"))]
    if len(ranks) < plan.cards:
        raise UserError(f"`{plan.name}` did not run on emulated NPUs: {reason_in(output)}", "`--code torch` prints it")
    peaks = [max(row["peaks"].values()) for row in ranks]
    worst = peaks.index(max(peaks))
    volume = sum(search.clock.volume(plan, found.layers, 0))
    spent = time.monotonic() - began
    return Proof(0, worst, found.peak, peaks[worst], volume, ranks[worst]["volume"], spent, net.layers)


def _whole(last: tuple[Search, Found], rows: list[Proof], layers: int) -> Proof:
    """The whole depth, measured figures along the line through two depths."""
    whole, chosen = _at_depth(last, layers)
    one, two = rows
    steps = (layers - one.layers) / (two.layers - one.layers)
    measured, volume = (
        int(a + steps * (b - a)) for a, b in ((one.compiled, two.compiled), (one.compiled_volume, two.compiled_volume))
    )
    predicted = sum(whole.clock.volume(chosen.plan, chosen.layers, 0))
    return Proof(0, two.rank, chosen.peak, measured, predicted, volume, 0.0, layers, extended=True)
