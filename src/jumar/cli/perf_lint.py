"""Runs the program of `jumar perf lint` with the recorder in it, and reads what that wrote."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jumar.core.errors import UserError

if TYPE_CHECKING:
    from jumar.perf.result import Report


def report(words: Sequence[str], options: Mapping[str, Any]) -> Report:
    if options["keep"] is not None:
        return _report(words, options, options["keep"])
    with tempfile.TemporaryDirectory(prefix="jumar-perf-") as folder:
        return _report(words, options, Path(folder))


def _report(words: Sequence[str], options: Mapping[str, Any], folder: Path) -> Report:
    from jumar.cli import profiling
    from jumar.perf import analyse

    argv, variables = _command(words, options, folder)
    before = profiling.names(folder)
    code = _run(argv, variables)
    found = profiling.written(folder, before)
    if code:
        more = "; a program that imports torch_npu runs without `--cpu`" if options["cpu"] else ""
        raise UserError(f"the program failed with exit code {code}", f"its own message is above{more}")
    if not found:
        raise UserError("the program used no operator of torch", "nothing to report on; does it import torch?")
    result = analyse.report(found[0] if len(found) == 1 else folder)
    return result if options["keep"] is not None else analyse.renamed(result, " ".join(words))


def _command(words: Sequence[str], options: Mapping[str, Any], folder: Path) -> tuple[tuple[str, ...], dict[str, str]]:
    from jumar.cli import profiling
    from jumar.emulate import command, env
    from jumar.runtime import variables as rows

    wish = command.RunRequest(soc=options["soc"], cards=1, cuda=options["cuda"])
    own = list(words[1:]) if words[:1] in (["python"], ["python3"]) else list(words)
    if options["cpu"]:
        soc = env.check_soc(options["soc"] or env.DEFAULT_SOC)
        argv = command.argv_of(own, Path())
        values = {rows.EMULATE.name: "0", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0", rows.SOC.name: soc}
    else:
        built = command.build(own, wish, {**os.environ, rows.EMULATE.name: "1"})
        command.prepare(built, wish)
        argv, values = built.argv, built.variables
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot make the folder `{folder}`: {error.strerror}") from error
    return argv, {**values, **profiling.variables(folder, options["steps"])}


def _run(argv: Sequence[str], variables: Mapping[str, str]) -> int:
    """The program's own output goes to stderr: stdout carries the report."""
    from jumar.runtime import process

    return process.call(argv, env={**os.environ, **variables}, stdout=sys.stderr.fileno())
