"""`jumar.record`: the context manager for programs that say themselves what is recorded."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from jumar.compare.session import STEPS, Session
from jumar.core.errors import UserError


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


def prepare(folder: Path, overwrite: bool) -> None:
    """Make sure that nothing but an older record is in the way; only `overwrite` removes that."""
    if not folder.exists():
        return
    if folder.is_dir() and not any(folder.iterdir()):
        return
    if folder.is_dir() and all(_is_ours(child) for child in folder.iterdir()):
        if not overwrite:
            raise UserError(f"`{folder}` holds a record already", "name another folder, or overwrite it")
        shutil.rmtree(folder)
        return
    raise UserError(f"`{folder}` exists and is no record", "name another folder")


def _is_ours(child: Path) -> bool:
    return child.name.startswith(("rank", "floor-")) and child.is_dir()
