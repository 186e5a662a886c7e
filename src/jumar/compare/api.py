"""`jumar.record`: the context manager for programs that say themselves what is recorded."""

from __future__ import annotations

import os
from pathlib import Path

from jumar.compare.folder import prepare
from jumar.compare.session import STEPS, Session


def record(
    path: str | os.PathLike[str], steps: int = STEPS, *, tensors: tuple[int, ...] = (), overwrite: bool = False
) -> Session:
    """Record the operators that run inside the `with` block; a step ends where an optimizer has stepped.

    `next_step()` of what the block gets ends a step by hand. `tensors` are operators whose inputs and outputs are
    saved whole.
    """
    folder = Path(path)
    prepare(folder, overwrite)
    return Session(folder, steps, keep=tuple(tensors))
