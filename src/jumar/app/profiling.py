"""Puts the recorder of `jumar.perf` into a program that `jumar run` or `jumar perf lint` starts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from jumar.core.errors import UserError

if TYPE_CHECKING:
    from jumar.emulate.command import Command

RECORDER = "jumar.perf.record.start"


def variables(folder: Path, steps: int | None = None) -> dict[str, str]:
    """What a process needs to record itself into `folder`."""
    values = {"JUMAR_PROFILE": str(folder.absolute()), "JUMAR_AFTER_TORCH": RECORDER}
    return {**values, "JUMAR_PROFILE_STEPS": str(steps)} if steps else values


def recorded(built: Command, folder: Path) -> Command:
    """A command for emulated NPUs, with the recorder; the folder is made here, where an error can be shown."""
    if built.variables["JUMAR_EMULATE"] != "1":
        raise UserError(
            "`--profile` is for emulated NPUs, and this run uses real ones",
            "profile with torch_npu.profiler; `jumar perf read` reads its folder",
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot make the folder `{folder}`: {error.strerror}") from error
    return built._replace(variables={**built.variables, **variables(folder)})


def written(folder: Path, before: set[str]) -> list[Path]:
    """The profiles that a run left in the folder."""
    return sorted(item for item in folder.glob("*_ascend_pt") if item.name not in before)


def names(folder: Path) -> set[str]:
    return set(os.listdir(folder)) if folder.is_dir() else set()
