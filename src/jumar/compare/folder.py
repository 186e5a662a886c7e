"""The folder of a record: what may be written over, and what it says about itself."""

from __future__ import annotations

import shutil
from pathlib import Path

from jumar.core.errors import UserError


def prepare(folder: Path, overwrite: bool) -> None:
    """Make sure that nothing but an older record is in the way; only `overwrite` removes that."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise UserError(f"`{folder}` is a file", "name a folder")
    children = list(folder.iterdir())
    if not children:
        return
    if not all(child.name.startswith(("rank", "floor-")) and child.is_dir() for child in children):
        raise UserError(f"`{folder}` exists and is not a record", "name another folder")
    if not overwrite:
        raise UserError(f"`{folder}` already holds a record", "name another folder, or give `--overwrite`")
    shutil.rmtree(folder)


def summary(folder: Path) -> str:
    """`2 ranks, 3 steps, 6 noise runs, 1.2 MB`."""
    ranks = len(list(folder.glob("rank*/meta.json")))
    steps = len(list(next(folder.glob("rank*")).glob("step-*.jrec")))
    noise = len(list(folder.glob("floor-*")))
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    parts = [_count(ranks, "rank"), _count(steps, "step"), *([_count(noise, "noise run")] if noise else [])]
    return f"{', '.join(parts)}, {size / 1e6:.1f} MB"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
