"""The proof of a plan: MindSpore's own compiler in its dry run, one process per stage, with a watch on memory."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import re
import signal
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from jumar.core.errors import UserError
from jumar.parallel import code, provable
from jumar.parallel.plan import Job
from jumar.parallel.search import Found, Search
from jumar.runtime import process as processes

GIB = 1 << 30
EACH = 4 * GIB
"""Memory that one dry run is taken to need when it is decided how many run at once."""
SPARE = GIB
"""Memory of the host that is left to others."""
SHRUNK = 2
"""Layers of each stage in the dry run of a pipeline; the whole depth took a host of 24 GB down."""
LONG = 8
"""Parts of a pipeline (stages times chunks) from which each has one layer in the dry run."""
EVERY = 4
"""Stages of which each is compiled; of a longer pipeline the first, the fullest and the last."""
PEAK = re.compile(r"Used peak memory usage \(without fragments\): (\d+)M")


class Proof(NamedTuple):
    """One stage: bytes as predicted and as compiled, and the bytes that it gives to collectives."""

    stage: int
    rank: int
    predicted: int
    compiled: int
    predicted_volume: int
    compiled_volume: int
    seconds: float
    layers: int = 0
    """Of the network in the proof, where several depths are tried."""
    extended: bool = False
    """Not run: the line through two other depths."""

    @property
    def error(self) -> float:
        return self.predicted / self.compiled - 1 if self.compiled else 0.0


class Proven(NamedTuple):
    plan: str
    layers: tuple[int, ...]
    shrunk: bool
    stages: list[Proof]
    by: str = "compiler"
    what: str = ""
    """The size of what was run, where it is not that of the plan."""


def shrink(search: Search, found: Found, depth: int | None) -> tuple[Search, Found, bool]:
    """The same plan with fewer layers where the whole would be too much."""
    plan, limit = found.plan, search.hardware.usable
    if search.net.family == "traced":
        return search, found, False
    ahead = search.net.layers - search.depth if search.net.dense_layers else 0
    parts = plan.pp * plan.chunks
    few = ahead + (SHRUNK if parts < LONG else 1) * parts
    wanted = depth or (few if plan.pp > 1 and search.net.layers > few else search.net.layers)
    if wanted >= search.net.layers:
        return search, found, False
    least = ahead + parts
    if wanted < least:
        raise UserError(f"`{plan.name}` needs at least {least} layers, not {wanted}", "raise `--prove-layers`")
    small = Search(search.net.with_(layers=wanted), search.job, search.hardware)
    each, rest = divmod(wanted - ahead, plan.pp)
    layers = tuple(each + (stage >= plan.pp - rest) for stage in range(plan.pp))
    other = small.evaluate(plan, limit, layers)
    assert other is not None
    return small, other, True


def shorten(search: Search, found: Found) -> tuple[Search, Found]:
    """The same plan with as many micro-batches as fill the pipeline: more need no more memory, only compile longer."""
    plan, job = found.plan, search.job
    enough = int(max(plan.flights)) + 2
    if plan.chunks > 1:  # MindSpore's order depends on what is left of whole rounds
        enough += (plan.micro_batches - enough) % plan.pp
    if search.net.family == "traced" or enough >= plan.micro_batches:
        return search, found
    each = job.global_batch // plan.micro_batches
    small = Search(search.net, Job(each * enough, job.optimizer), search.hardware)
    other = small.evaluate(plan._replace(micro_batches=enough), search.hardware.usable, found.layers)
    assert other is not None
    return small, other


def _stages(found: Found) -> list[int]:
    """Those that are compiled unless others are named."""
    totals = [memory.total for memory in found.memory]
    if len(totals) <= EVERY:
        return list(range(len(totals)))
    return sorted({0, totals.index(max(totals)), len(totals) - 1})


def prove(
    search: Search, found: Found, starter: Sequence[str], *, depth: int | None = None, limit: float = 600,
    stages: Sequence[int] | None = None, whole: bool = False,
) -> Proven:  # fmt: skip
    """Compile the plan for the first rank of each stage, or of some, and compare. `whole`: all micro-batches."""
    name = found.plan.name
    reason = provable.reason(search.net, found.plan)
    if reason:
        raise UserError(f"cannot prove `{name}`: {reason}", "choose another plan, or leave out `--prove`")
    search, found, shrunk = shrink(search, found, depth)
    of = found.plan.micro_batches
    if not whole:
        search, found = shorten(search, found)
    plan = found.plan
    with tempfile.TemporaryDirectory(prefix="jumar-prove-") as place:
        folder = Path(place)
        (folder / code.SCRIPT).write_text(code.network(search.net, search.job, found), encoding="utf-8")
        wanted = _stages(found) if stages is None else stages
        at_once = max(1, min(len(wanted), (os.cpu_count() or 1) // 2, (available() - SPARE) // EACH))
        with ThreadPoolExecutor(at_once) as pool:
            rows = list(pool.map(lambda stage: _stage(search, found, stage, folder, starter, limit, at_once), wanted))
    what = f"{plan.micro_batches} of its {of} micro-batches" if plan.micro_batches < of else ""
    return Proven(name, found.layers, shrunk, rows, what=what)


def _stage(
    search: Search, found: Found, stage: int, folder: Path, starter: Sequence[str], limit: float, at_once: int
) -> Proof:
    plan = found.plan
    rank = stage * plan.dp * plan.tp
    place = folder / f"rank_{rank}"
    place.mkdir()
    variables = {
        "MS_SIMULATION_LEVEL": "1", "RANK_SIZE": str(plan.cards), "RANK_ID": str(rank), "GLOG_v": "2",
        "MS_DEV_SAVE_GRAPHS": "2", "MS_DEV_SAVE_GRAPHS_PATH": str(place / "graphs"),
        "MS_DEV_DUMP_IR_PASSES": "none",  # only the order of execution is read; the graphs took most of the time
    }  # fmt: skip
    words = [*starter, str(folder / code.SCRIPT), json.dumps(code.words(search.net, search.job, found))]
    began = time.monotonic()
    zeros = search.model.accumulated(plan, stage, found.layers[stage]) if plan.pp > 1 else 0
    output = watched(words, place, variables, limit, (available() - SPARE) // at_once, zeros)
    match = PEAK.search(output)
    if match is None:
        raise UserError(
            f"MindSpore did not compile `{plan.name}`: {reason_in(output)}", "`jumar run --print` shows what is started"
        )
    predicted = found.memory[stage].total
    volume = sum(search.clock.volume(plan, found.layers, stage))
    return Proof(stage, rank, predicted, int(match[1]) << 20, volume, _volume(place), time.monotonic() - began)


def watched(
    words: Sequence[str], folder: Path, variables: dict[str, str], limit: float, most: int, zeros: int = 0
) -> str:
    """Run a program and return what it says; it is ended when it takes too long or too much of the host's memory.

    `zeros`: bytes that MindSpore fills to clear the gradients of a pipeline, which has no fewer layers."""
    log = folder / "log"
    with log.open("wb") as file:
        process = processes.start(
            words, cwd=folder, env={**os.environ, **variables}, stdout=file, stderr=processes.STDOUT,
            dies_with_us=signal.SIGKILL,
        )  # fmt: skip
        end = time.monotonic() + limit
        try:
            while process.poll() is None:
                used = _used(process.pid)
                if used > most or available() < SPARE // 2:
                    raise UserError(
                        f"the dry run was stopped: it used {used / GIB:.1f} GiB of this machine's memory",
                        f"use a machine with more memory: the pipeline has no fewer layers, and MindSpore holds "
                        f"{zeros / GIB:.1f} GiB of zeros for its gradients"
                        if zeros
                        else "prove fewer layers (`--prove-layers 4`), or use a machine with more memory",
                    )
                if time.monotonic() > end:
                    raise UserError(f"the dry run was stopped after {limit:.0f} s", "raise `--prove-limit`")
                time.sleep(0.2)
        finally:
            if process.poll() is None:
                processes.kill(process)
    return log.read_text(encoding="utf-8", errors="replace")


def _used(group: int) -> int:
    """Resident bytes of the processes of a group."""
    total = 0
    page = os.sysconf("SC_PAGE_SIZE")
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError, ValueError):
                fields = Path(entry.path, "stat").read_text().rpartition(")")[2].split()
                if int(fields[2]) == group:
                    total += int(fields[21]) * page
    return total


def available() -> int:
    """Bytes of this machine that can be had."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 8 * GIB


def _volume(place: Path) -> int:
    """Bytes that went into collectives, from MindSpore's own list."""
    total = 0
    for path in place.glob("graphs/**/comm_execute_order.csv"):
        with path.open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                if row.get("primitive") not in ("Receive", "Barrier"):
                    total += int(row.get("input_size") or 0)
    return total


def reason_in(output: str) -> str:
    """The error that a program told last."""
    lines = [line.strip() for line in output.splitlines()]
    raised = [line for line in lines if re.match(r"\w+Error: ", line)]
    told = raised or [line for line in lines if line.startswith("error: ")]
    return (told or [line for line in lines if line] or ["no output"])[-1][:300]
