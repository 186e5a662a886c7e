"""`jumar export`: check a model, the ATC command, the stand-in of its result, and what float16 does to it."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jumar.core.compat import dataclass
from jumar.core.errors import UserError
from jumar.core.finding import Level

if TYPE_CHECKING:
    from jumar.core.finding import Finding
    from jumar.export.check import Check
    from jumar.export.command import AtcRequest, Conversion
    from jumar.export.graph import View
    from jumar.export.offline import OfflineRequest, Subject
    from jumar.export.precision import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportCheckRequest:
    """A model to check: an ONNX file, or `file.py:make_model`."""

    source: str
    soc: str | None = None
    shapes: tuple[str, ...] = ()
    """Example inputs of a torch module that returns none, as `NAME:1,3,224,224`."""
    fix: bool = False
    """Rewrite opset, functions and names."""
    out: Path | None = None
    """Where the ONNX model is written."""
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class ExportCheckResult:
    """What ATC will refuse, and what was done to the model before it was looked at."""

    path: Path
    view: View
    findings: tuple[Finding, ...]
    done: tuple[str, ...]

    @property
    def accepted(self) -> bool:
        """Is there neither an error nor a warning?"""
        return all(row.level is Level.NOTE for row in self.findings)

    def html(self) -> str:
        """One self-contained page."""
        from jumar.report.pages import export_check

        return export_check.page(self.to_json()).html()

    def to_json(self) -> dict[str, Any]:
        """The document that `--json` prints."""
        from jumar.export import check
        from jumar.report import json

        states = [row._asdict() for row in check.operators(self.view)]
        model = {"path": str(self.path), **check.document(self.view), "states": states}
        findings = [json.finding(row) for row in self.findings]
        fields = {"kind": "export-check", "model": model, "done": list(self.done), "findings": findings, "errors": []}
        return json.document(fields)

    def __repr__(self) -> str:
        return f"<ExportCheckResult {self.path}: {len(self.findings)} findings>"


@dataclass(frozen=True, slots=True)
class OfflineResult:
    """The model in float32 against ATC's precision mode, and with the nodes that should keep float32."""

    subject: Subject
    measured: Result
    better: Result | None
    """With the nodes of the keep-dtype list, where one was searched."""
    tolerance: float

    @property
    def within(self) -> bool:
        """Is every output within the tolerance?"""
        return (self.better or self.measured).worst <= self.tolerance

    def to_json(self) -> dict[str, Any]:
        """The document that `--json` prints."""
        from jumar.report import export, json

        return json.document(export.document(self.subject, self.measured, self.better, self.tolerance))


def check(request: ExportCheckRequest) -> ExportCheckResult:
    """Every node against what ATC parses."""
    from jumar.export import check as checks

    if request.fix and request.out is None:
        raise UserError("`--fix` needs an output file", "add `-o fixed.onnx`")
    units = checks.chosen(request.only, request.skip)
    with tempfile.TemporaryDirectory(prefix="jumar-export-") as scratch:
        path, done = _prepared(request, Path(scratch))
        view, external = checks.read(path)
        if request.out is not None:
            path = request.out
        found = checks.run(_subject(path, view, external, request.soc), units)
    return ExportCheckResult(path, view, tuple(found), tuple(done))


def checks() -> list[Check]:
    """Id, name and summary of every check."""
    from jumar.export import check

    return [unit.check for unit in check.units()]


def command(request: AtcRequest) -> Conversion:
    """The ATC command of a conversion, checked against the model."""
    from jumar.export import command as commands
    from jumar.export import graph, model

    for word in request.extra:
        if not word.startswith("--") or "=" not in word:
            raise UserError(f"`--atc {word}` is not an option of ATC", "write it as `--atc=--log=error`")
    return commands.build(request, graph.inputs(model.read(request.model)))


def chip(name: str | None) -> str:
    """The chip of a conversion: as named, or that of the emulated machine."""
    from jumar.runtime import variables

    soc = name or variables.SOC.text()
    if not soc:
        raise UserError("no chip is named", "add `--chip 310P3`; `npu-smi info` shows the name")
    return soc


def refused(built: Conversion) -> list[str]:
    """What ATC will refuse: the errors that `check` finds."""
    from jumar.export import check

    view, external = check.read(built.model)
    found = check.run(check.Subject(built.model, view, external), check.units())
    return [f"{row.id} {row.message}" for row in found if row.level is Level.ERROR]


def atc() -> str:
    """The ATC of this machine."""
    import shutil

    program = shutil.which("atc")
    if program is None:
        raise UserError(
            "`atc` is not on the path: CANN is not installed here, or its set_env.sh was not sourced",
            "`source /usr/local/Ascend/cann/set_env.sh`; without CANN, `jumar export om` writes a stand-in",
        )
    return program


def convert(program: str, built: Conversion) -> int:
    """Run ATC; its exit code."""
    from jumar.runtime import process

    return process.call([program, *built.argv()[1:]])


def stand_in(built: Conversion) -> Path:
    """Write a stand-in of the `.om` that ATC would make; no device can load it."""
    from jumar.export.standin import om

    return om.save(built)


def run(
    request: OfflineRequest,
    *,
    tolerance: float = 0.01,
    timeout: float = 600.0,
    keep_list: Path | None = None,
    save: Path | None = None,
) -> OfflineResult:
    """Run a model in float32 and with the rounding of a precision mode; search the nodes that must keep float32."""
    from jumar.core import write
    from jumar.export import execute, offline, precision

    execute.runtime()
    subject = offline.subject(request)
    what = (subject.proto, subject.view, subject.feeds, subject.policy)
    result = precision.measure(*what, timeout)
    better = None
    if keep_list is not None:
        better = precision.keep(*what, result, tolerance, timeout)
        write.replace(keep_list, precision.listing(better.kept).encode())
    if save is not None:
        offline.save(save, better or result)
    return OfflineResult(subject, result, better, tolerance)


def _prepared(request: ExportCheckRequest, scratch: Path) -> tuple[Path, list[str]]:
    """The ONNX file to look at: as given, exported from torch, or rewritten; and what was done to it."""
    from jumar.core import write
    from jumar.export import fix, from_torch, shapes

    done = []
    path = Path(request.source)
    if from_torch.is_torch(request.source):
        if from_torch.is_pickled(request.source):
            raise UserError(
                f"`{request.source}` holds pickled Python: reading it runs whatever is in it",
                "name the module that it was made of, as `file.py:make_model`, or an ONNX file",
            )
        target = scratch / f"{Path(request.source.partition(':')[0]).stem}.onnx"
        opset = from_torch.export(request.source, shapes.fixed(request.shapes), target)
        path = target
        done.append(f"exported `{request.source}` with opset {opset}")
    elif request.shapes:
        raise UserError("`--shape` is for torch modules here", "`jumar export command` takes shapes of ONNX models")
    elif request.out is not None and not request.fix:
        raise UserError("nothing to write: the model is ONNX already", "add `--fix` to rewrite it, or leave `-o` out")
    if request.out is None:
        return path, done
    if not request.fix:
        write.replace(request.out, path.read_bytes())
        return path, done
    fixed = fix.fix(path)
    fix.save(fixed, request.out)
    return request.out, [*done, *(fixed.done or ("nothing had to be rewritten",)), *_compared(path, request.out)]


def _compared(before: Path, after: Path) -> Sequence[str]:
    """Both models on one random input, where onnxruntime can: a rewrite must not change the result."""
    from jumar.export import execute

    worst = execute.difference(before, after)
    if isinstance(worst, str):
        return [f"not compared with the original: {worst}"]
    return [f"computes the same as the original on a random input (largest difference {worst:.2g})"]


def _subject(path: Path, view: View, external: Any, soc: str | None) -> Any:
    from jumar.export.check import Subject
    from jumar.tables import atc, socs

    if soc is None:
        return Subject(path, view, external)
    family = socs.family(socs.known(soc))
    return Subject(path, view, external, family, family in atc.options()["families"]["bfloat16"])
