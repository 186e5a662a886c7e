"""A launcher that is itself run dry, as `accelerate launch` is: the one rank that it would start begins right here."""

from __future__ import annotations

import os
import runpy
import sys
from types import ModuleType
from typing import Any

from jumar.runtime.hooks.imports import Hook, on_import


def install() -> None:
    on_import("torch.distributed.run", Hook(after=_replace))


def _replace(module: ModuleType) -> None:
    setattr(module, "run", run)  # noqa: B010


def run(args: Any) -> None:
    """In the place of torchrun's own function."""
    each = str(args.nproc_per_node)
    nodes = int(str(args.nnodes).rpartition(":")[2])
    world = nodes * (int(each) if each.isdecimal() else int(os.environ["LOCAL_WORLD_SIZE"]))
    if int(os.environ["WORLD_SIZE"]) == 1:
        _set_world(world, world // nodes)
    sys.argv = [args.training_script, *args.training_script_args]
    if args.module:
        runpy.run_module(args.training_script, run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, os.path.dirname(os.path.abspath(args.training_script)))
        runpy.run_path(args.training_script, run_name="__main__")


def _set_world(world: int, each: int) -> None:
    """The launcher's configuration knows how many ranks there are; this is the first."""
    os.environ["WORLD_SIZE"] = str(world)
    os.environ["LOCAL_WORLD_SIZE"] = str(each)
