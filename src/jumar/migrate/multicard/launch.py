"""The launch script that comes beside a distributed training script."""

from __future__ import annotations

from importlib.resources import files as resources

NAME = "run_distributed_npu.sh"


def files() -> tuple[tuple[str, bytes], ...]:
    """The script by its name; its text does not depend on what it starts, so one folder needs one."""
    return ((NAME, resources("jumar.migrate.multicard").joinpath(NAME).read_bytes()),)
