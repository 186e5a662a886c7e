"""Begins a dry run in a process that has just imported torch, and writes what it found when the process ends."""

from __future__ import annotations

import atexit
import multiprocessing
import os
from typing import Any

from jumar.runtime import variables


def begin() -> None:
    if multiprocessing.parent_process() is not None or not variables.DRY.read():
        return
    from jumar.emulate.dry import load, loading, peers, write
    from jumar.emulate.dry.watch import Watch
    from jumar.emulate.glue import load as glue

    glue.install()
    load.install()
    peers.install()
    loading.install()
    watch = Watch(variables.DRY_STEPS.read())
    watch.install()
    _attach()
    process = os.getpid()

    def finish() -> None:
        if os.getpid() == process:
            watch.end()
            write.write(watch.done)

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
