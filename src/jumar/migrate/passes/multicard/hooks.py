"""What the engine asks about `--multi-card`."""

from __future__ import annotations

from importlib.resources import files as resources

from jumar.migrate.passes.multicard.python import single_process_main
from jumar.migrate.passes.torch import hooks as torch
from jumar.migrate.rule import After, NewFile, Pass

LAUNCHER = "run_distributed_npu.sh"


def launcher() -> NewFile:
    """The launch script; its text does not depend on what it starts, so one folder needs one."""
    return LAUNCHER, resources("jumar.migrate.passes.multicard").joinpath(LAUNCHER).read_bytes()


def files(after: After) -> tuple[NewFile, ...]:
    """The launch script beside a distributed training script."""
    return (launcher(),) if after.is_edited else ()


PASS = Pass(
    name="multicard",
    is_wanted=lambda settings: settings.multi_card and settings.cloud is None,
    goes_first=True,
    chosen_as=single_process_main.RULE.id,
    imports=torch.IMPORTS,
    files=files,
)
