"""Begins a dry run in a process that has just imported torch, and writes what it found when the process ends."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import sys
from typing import Any

from jumar.runtime import variables


def begin() -> None:
    if multiprocessing.parent_process() is not None:
        return
    from jumar.emulate.dry import load, peaks, trace
    from jumar.emulate.dry.watch import Watch
    from jumar.emulate.glue import load as glue

    dry = bool(variables.DRY.read())
    if not dry and not (variables.DRY_TRACE.read() and "torch_npu" in sys.modules):  # launchers do without torch_npu
        return
    glue.install()
    load.install(compute=not dry)
    _prepare(dry)
    watch = Watch(variables.DRY_STEPS.read())
    watch.install()
    peaks.install()
    if variables.DRY_TRACE.read():
        trace.install()
    _attach()
    _finish_at_exit(watch, dry)


def _prepare(dry: bool) -> None:
    """Absent ranks and checkpoints; an emulated run that is recorded has both."""
    import torch.distributed as dist

    from jumar.emulate.dry import inside, loading, peers, synthetic

    if dry:
        peers.install()
        loading.install()
        inside.install()
        if variables.DRY_SYNTHETIC.read():
            synthetic.install()
    elif dist.is_available():
        peers.watch_alone()


def _finish_at_exit(watch: Any, dry: bool) -> None:
    from jumar.emulate.dry import trace, write

    process = os.getpid()

    def finish() -> None:
        if os.getpid() != process:
            return
        watch.end()
        if dry:
            write.write(watch.done)
        if variables.DRY_TRACE.read():
            trace.write()

    atexit.register(finish)


def _attach() -> None:
    """Follow the allocator from its first block on: torch_npu makes it when a card is first used."""
    import torch_npu

    from jumar.emulate.dry import load

    start = torch_npu._C._npu_init

    def start_attached(*args: Any, **options: Any) -> Any:
        result = start(*args, **options)
        load.library().jumar_dry_attach()
        return result

    torch_npu._C._npu_init = start_attached
