"""`jumar perf`: where the time goes, from a real profile or from a run on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jumar.core.compat import dataclass

if TYPE_CHECKING:
    from jumar.app.perf_lint import LintRequest
    from jumar.core.finding import Finding
    from jumar.perf.fix_trace import Fixed
    from jumar.perf.result import Advice, Difference, Report
    from jumar.report.page import Page


@dataclass(frozen=True, slots=True, repr=False)
class PerfResult:
    """The split of the time and what to change, most time saved first."""

    report: Report

    @property
    def advice(self) -> tuple[Advice, ...]:
        """What to change, most time saved first."""
        return self.report.advice

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The advice as findings, for programs that read those of every verb."""
        return tuple(_finding(item) for item in self.advice)

    def html(self) -> str:
        """One self-contained page with a timeline."""
        return self.page().html()

    def page(self) -> Page:
        """The same as a value, for an index of pages."""
        from jumar.report import perf

        return perf.page(self.report)

    def to_json(self) -> dict[str, Any]:
        """The document that `--json` prints."""
        from jumar.report import json, perf

        return json.document(perf.document(self.report))

    def __repr__(self) -> str:
        return f"<PerfResult {self.report.path}: {len(self.report.ranks)} ranks, {len(self.advice)} pieces of advice>"


@dataclass(frozen=True, slots=True)
class PerfDifference:
    """Two profiles side by side, per step."""

    difference: Difference

    def to_json(self) -> dict[str, Any]:
        """The document that `--json` prints."""
        from jumar.report import json, perf

        return json.document(perf.diff_document(self.difference))


def read(path: Path, *, jobs: int | None = None, only: Sequence[str] = (), skip: Sequence[str] = ()) -> PerfResult:
    """Report on a `*_ascend_pt` folder, a folder of several, or a Kineto trace."""
    from jumar.perf import analyse

    return PerfResult(analyse.chosen(analyse.report(path, jobs), only, skip))


def lint(request: LintRequest, *, only: Sequence[str] = (), skip: Sequence[str] = ()) -> PerfResult:
    """Run a program on emulated NPUs, or on the CPU, and report on it as if a card had run it."""
    from jumar.app import perf_lint
    from jumar.perf import analyse

    return PerfResult(analyse.chosen(perf_lint.report(request), only, skip))


def diff(before: Path, after: Path, *, jobs: int | None = None) -> PerfDifference:
    """Compare two profiles."""
    from jumar.perf.diff import difference

    return PerfDifference(difference(before, after, jobs))


def fix_trace(source: Path, out: Path) -> tuple[Fixed, str]:
    """Write a trace that Perfetto shows rightly; also says which rank it is of where there are several."""
    from jumar.perf.fix_trace import fix
    from jumar.perf.readers import folder

    found = folder.find(source)
    note = f"{len(found)} ranks found: this is the trace of rank {found[0].rank}" if len(found) > 1 else ""
    path = found[0].path
    return fix(path / "trace_view.json" if path.is_dir() else path, out), note


def _finding(item: Advice) -> Finding:
    from jumar.core.finding import Finding, Level, Where

    path, _, line = item.where.rpartition(":")
    where = Where(path, int(line), 1, int(line), 1) if line.isdecimal() else None
    message = f"{item.name}: {item.message}"
    return Finding(item.id, Level.WARNING, message, where, fix="\n".join(item.change), doc=item.name)
