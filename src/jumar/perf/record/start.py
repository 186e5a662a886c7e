"""Starts the recorder in a process that has just imported torch, and writes the profile folder when it ends.

Asked for by `JUMAR_PROFILE`, the folder to write to; `JUMAR_PROFILE_STEPS` ends the program after so many updates.
"""

from __future__ import annotations

import atexit
import importlib.util
import multiprocessing
import os
import sys
import time
from pathlib import Path
from typing import Any

from jumar.core.errors import reason
from jumar.perf.profile import DATA, PRINT
from jumar.perf.record.card import follow
from jumar.perf.record.clock import Stopwatch
from jumar.perf.record.watch import LIMIT, Watch
from jumar.perf.roofline import card
from jumar.perf.simulate import simulate, steady, warm
from jumar.perf.trace_events import Run
from jumar.perf.write import write
from jumar.runtime import standins, variables
from jumar.runtime.tell import tell
from jumar.tables.load import table
from jumar.tables.perf import jit_compile


def begin() -> None:
    if multiprocessing.parent_process() is not None or not variables.PROFILE.read():
        return
    import torch

    if variables.EMULATE.read() is False:
        # transformers and others import it wherever it is installed, which fails on a machine without CANN
        sys.modules.setdefault("torch_npu", None)  # type: ignore[arg-type]
    elif standins.are_waiting() and not hasattr(torch, "_import_device_backends"):
        _import_npu()
    npu = hasattr(torch, "npu") and torch.npu.is_available()
    watch = Watch("npu" if npu else "cpu")
    watch.__enter__()
    was, watch.card = watch.card, "cpu"
    watch.calibrate()
    watch.card = was
    _mark_updates(watch)
    _mark_batches(watch)
    _mark_prints(watch)
    if not npu:
        follow(watch, card(variables.SOC.read()).soc)
    chosen = _watch_compile_mode(torch) if npu else []
    process, started = os.getpid(), time.time_ns()

    def finish() -> None:
        if os.getpid() == process:
            watch.full = True
            _write(torch, watch, started, chosen, npu=npu)

    atexit.register(finish)


def _import_npu() -> None:
    """Before 2.5, torch leaves this to the program: it comes after this, or never in one that only asks for cards."""
    if importlib.util.find_spec("torch_npu") is not None:
        importlib.import_module("torch_npu")


def _mark_updates(watch: Watch) -> None:
    from torch.optim import optimizer

    wanted = variables.PROFILE_STEPS.read()
    done = 0

    def before(one: Any, *_: Any) -> None:
        watch.mark("begin", _name(one), watch.gap())
        watch.in_update = True

    def after(one: Any, *_: Any) -> None:
        nonlocal done
        watch.in_update = False
        watch.mark("end", _name(one), watch.gap())
        done += 1
        if wanted and done >= wanted:
            sys.exit(0)

    optimizer.register_optimizer_step_pre_hook(before)
    optimizer.register_optimizer_step_post_hook(after)


def _name(one: Any) -> str:
    kind = type(one).__name__
    return f"Optimizer.step#{kind}.step"


def _mark_batches(watch: Watch) -> None:
    """Wraps what makes a batch; `__next__` around it is replaced by torch_npu when a card is first used."""
    from torch.utils.data import dataloader

    for kind in (dataloader._SingleProcessDataLoaderIter, dataloader._MultiProcessingDataLoaderIter):
        kind._next_data = _timed(kind._next_data, watch)


def _timed(original: Any, watch: Watch) -> Any:
    def timed(self: Any) -> Any:
        gap, clock = watch.gap(), Stopwatch()
        watch.in_loader = True
        try:
            return original(self)
        finally:
            watch.in_loader = False
            watch.mark("data", f"{DATA}#{type(self).__name__}.__next__", gap, clock.spent())

    return timed


def _mark_prints(watch: Watch) -> None:
    """torch hides the operators of a print from every dispatch mode."""
    from torch import _tensor_str

    original = _tensor_str._str

    def shown(self: Any, **options: Any) -> Any:
        if self.device.type == watch.card:
            watch.mark("sync", PRINT, watch.gap())
        shown_text = original(self, **options)
        watch.reset()
        return shown_text

    _tensor_str._str = shown


def _write(torch: Any, watch: Watch, started: int, chosen: list[bool], *, npu: bool) -> None:
    if not watch.calls:
        return
    soc = variables.SOC.read()
    model = card(soc)
    ranks, rank = _ranks()
    run = Run(
        folder=Path(variables.PROFILE.read()),
        rank=rank,
        started=started,
        device="emulated NPU" if npu else "CPU",
        jit_compile=_jit_compile(chosen, model.soc),
        notes=(f"only the first {LIMIT:,} operators were recorded",) if len(watch.calls) >= LIMIT else (),
        memory=_memory(torch) if npu else None,
    )
    try:
        write(run, simulate(steady(warm(watch.calls)), model, ranks))
    except OSError as error:
        tell(f"cannot write the profile: {reason(error)}")


def _ranks() -> tuple[int, int]:
    size = int(os.environ.get("WORLD_SIZE") or 1)
    return max(1, size), int(os.environ.get("RANK") or 0)


def _watch_compile_mode(torch: Any) -> list[bool]:
    """What the program chose with `set_compile_mode`: the emulator's own answer is not that of the chip."""
    chosen: list[bool] = []
    original = torch.npu.set_compile_mode

    def choose(jit_compile: bool = False) -> Any:
        chosen.append(bool(jit_compile))
        return original(jit_compile=jit_compile)

    torch.npu.set_compile_mode = choose
    return chosen


def _jit_compile(chosen: list[bool], soc: str) -> bool:
    """Whether operators would be compiled at run time: the program's choice, else the default of the chip."""
    return chosen[-1] if chosen else table("emulated_socs.json")["socs"][soc]["family"] in jit_compile().families


def _memory(torch: Any) -> tuple[float, float] | None:
    try:
        return torch.npu.max_memory_allocated() / 2**20, torch.npu.max_memory_reserved() / 2**20
    except Exception:  # no card was used
        return None
