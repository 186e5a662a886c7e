"""Runs the program of `jumar perf lint` with the recorder in it, and reads what that wrote."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jumar.core.compat import dataclass
from jumar.core.errors import UserError
from jumar.core.write import make_folder

if TYPE_CHECKING:
    from jumar.perf.result import Report


@dataclass(frozen=True, slots=True, kw_only=True)
class LintRequest:
    """A program to run and to report on as if a card had run it."""

    words: tuple[str, ...]
    soc: str | None = None
    """Chip to model."""
    cpu: bool = False
    """Run on the CPU, without an emulated NPU."""
    cuda: bool = False
    """Apply torch_npu's own run-time migration."""
    steps: int | None = None
    """End the program after this many optimizer updates."""
    keep: Path | None = None
    """Keep the profile in this folder."""


def report(request: LintRequest) -> Report:
    if request.keep is not None:
        return _report(request, request.keep)
    with tempfile.TemporaryDirectory(prefix="jumar-perf-") as folder:
        return _report(request, Path(folder))


def _report(request: LintRequest, folder: Path) -> Report:
    from jumar.app import profiling
    from jumar.perf import analyse

    argv, variables = _command(request, folder)
    before = profiling.names(folder)
    code = _run(argv, variables)
    found = profiling.written(folder, before)
    if code:
        more = "; a program that imports torch_npu runs without `--cpu`" if request.cpu else ""
        raise UserError(f"the program failed with exit code {code}", f"its own message is above{more}")
    if not found:
        raise UserError("the program called no torch operator", "check that the program imports torch")
    result = analyse.report(found[0] if len(found) == 1 else folder)
    return result if request.keep is not None else analyse.renamed(result, " ".join(request.words))


def _command(request: LintRequest, folder: Path) -> tuple[tuple[str, ...], dict[str, str]]:
    from jumar.app import profiling
    from jumar.emulate import command, env
    from jumar.runtime import variables as rows

    wish = command.RunRequest(soc=request.soc, cards=1, cuda=request.cuda)
    own = list(request.words[1:] if request.words[:1] in (("python",), ("python3",)) else request.words)
    if request.cpu:
        soc = env.check_soc(request.soc or env.DEFAULT_SOC)
        argv = command.argv_of(own, Path())
        values = {rows.EMULATE.name: "0", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0", rows.SOC.name: soc}
    else:
        built = command.build(own, wish, {**os.environ, rows.EMULATE.name: "1"})
        command.prepare(built, wish)
        argv, values = built.argv, built.variables
    make_folder(folder)
    return argv, {**values, **profiling.variables(folder, request.steps)}


def _run(argv: Sequence[str], variables: Mapping[str, str]) -> int:
    """The program's own output goes to stderr: stdout carries the report."""
    from jumar.runtime import process

    return process.call(argv, env={**os.environ, **variables}, stdout=sys.stderr.fileno())
