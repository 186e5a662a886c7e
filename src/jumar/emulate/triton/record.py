"""Keeps what kernels did for `jumar perf lint`, and writes it when the program ends."""

from __future__ import annotations

import atexit
import functools
from pathlib import Path
from typing import Any

from jumar.emulate.triton.driver import chip
from jumar.emulate.triton.rewrite import first_line
from jumar.runtime import variables
from jumar.runtime.triton_launches import KernelFacts, write

_KEPT: dict[str, KernelFacts] = {}


def keep(function: Any, launch: Any) -> None:
    """Add a launch to what is known of its kernel."""
    if not variables.PROFILE.text():
        return
    _write_at_exit()
    where = f"{function.fn.__code__.co_filename}:{first_line(function)}"
    old = _KEPT.get(where)
    watch = launch.watch
    programs = launch.grid[0] * launch.grid[1] * launch.grid[2]
    cores = int(chip()["cube_core" if launch.uses_dot else "vector_core"])
    seen = [tuple(dict.fromkeys(items)) for items in (watch.slow, watch.tails, watch.scattered)] if watch else [()] * 3
    _KEPT[where] = KernelFacts(
        launch.kernel,
        where,
        (old.launches if old else 0) + 1,
        max(programs, old.programs if old else 0),
        cores,
        launch.uses_dot,
        *(tuple(dict.fromkeys((*(before or ()), *now))) for before, now in zip(old[6:] if old else ((),) * 3, seen)),
    )


@functools.cache
def _write_at_exit() -> None:
    atexit.register(lambda: write(Path(variables.PROFILE.text()), _KEPT.values()))
