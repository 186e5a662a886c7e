"""Puts the recorder of `jumar.perf` into a program that `jumar run` or `jumar perf lint` starts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from jumar.core.errors import UserError
from jumar.core.write import make_folder
from jumar.runtime import variables as rows

if TYPE_CHECKING:
    from jumar.emulate.command import Command


def variables(folder: Path, steps: int | None = None) -> dict[str, str]:
    """What a process needs to record itself into `folder`."""
    values = {rows.PROFILE.name: str(folder.absolute())}
    return {**values, rows.PROFILE_STEPS.name: str(steps)} if steps else values


def recorded(built: Command, folder: Path) -> Command:
    """A command for emulated NPUs, with the recorder; the folder is made here, where an error can be shown."""
    if not rows.EMULATE.read(built.variables):
        raise UserError(
            "`--profile` is for emulated NPUs, but this run uses real ones",
            "profile with torch_npu.profiler; `jumar perf read` reads its folder",
        )
    make_folder(folder)
    return built._replace(variables={**built.variables, **variables(folder)})


def written(folder: Path, before: set[str]) -> list[Path]:
    """The profiles that a run left in the folder."""
    return sorted(item for item in folder.glob("*_ascend_pt") if item.name not in before)


def names(folder: Path) -> set[str]:
    return set(os.listdir(folder)) if folder.is_dir() else set()
