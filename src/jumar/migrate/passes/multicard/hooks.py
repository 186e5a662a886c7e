"""What the engine asks about `--multi-card`."""

from __future__ import annotations

from importlib.resources import files as resources

from jumar.migrate.passes.multicard import program
from jumar.migrate.passes.multicard.python import single_process_main
from jumar.migrate.passes.torch import hooks as torch
from jumar.migrate.rule import After, NewFile, Pass

LAUNCHER = "run_distributed_npu.sh"


def launcher() -> NewFile:
    """The launch script; its text does not depend on what it starts, so one folder needs one."""
    return LAUNCHER, resources("jumar.migrate.passes.multicard").joinpath(LAUNCHER).read_bytes()


def files(after: After) -> tuple[NewFile, ...]:
    """The launch script beside a distributed training script; other files of its program need none."""
    path = after.source.path
    programs = [texts for texts in after.settings.facts.programs if any(path == one for one, _ in texts)]
    is_member = bool(programs) and all(texts[0][0] != path for texts in programs)
    return (launcher(),) if after.is_edited and not is_member else ()


PASS = Pass(
    name="multicard",
    is_wanted=lambda settings: settings.multi_card and settings.cloud is None,
    goes_first=True,
    chosen_as=single_process_main.RULE.id,
    imports=torch.IMPORTS,
    prepare=program.prepare,
    files=files,
)
