"""`jumar cloud adapt`: what a training script needs to run as a ModelArts job."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jumar.core.finding import Finding
    from jumar.migrate.result import ProjectResult


def adapt(boot: Path, only: Sequence[str] = (), skip: Sequence[str] = ()) -> ProjectResult:
    """The boot file and the modules it imports from its own folder, adapted; nothing is written."""
    from jumar.migrate import config
    from jumar.migrate.passes.cloud import program

    return program.adapt(boot, config.rule_ids(only, "--only"), config.rule_ids(skip, "--skip"))


def unread(result: ProjectResult, boot: Path) -> Finding | None:
    """What says that the boot file could not be read as Python."""
    from jumar.migrate.rule import NOT_PYTHON, UNREADABLE

    about_boot = (finding for finding in result.findings() if finding.where and Path(finding.where.path) == boot)
    return next((finding for finding in about_boot if finding.id in (NOT_PYTHON.id, UNREADABLE.id)), None)


def is_one_file(boot: Path, out: Path) -> bool:
    """Whether `out` names a file for the boot file alone, rather than a folder for the program."""
    from jumar.migrate import output

    return output.is_file([boot], out)
