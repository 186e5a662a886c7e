"""What a person sees: the live line on a terminal, and what a failed job's logs mean."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from jumar.cli.ranks_view import RanksView
from jumar.cli.why import why


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_live_line_stays_below_the_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    both = Terminal()
    monkeypatch.setattr(sys, "stdout", both)
    monkeypatch.setattr(sys, "stderr", both)
    view = RanksView(16)
    view.line(3, "one")
    view.live("rank 0: 12 it/s, 1 s")
    view.line(12, "two")
    view.note("stopping")
    view.close()
    clear = "\r\x1b[K"
    live = "rank 0: 12 it/s, 1 s"
    assert both.getvalue() == f"[rank  3] one\n{live}{clear}[rank 12] two\n{live}{clear}jumar: stopping\n{live}{clear}"


def test_there_is_no_live_line_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    view = RanksView(2)
    view.live("rank 0: 12 it/s, 1 s")
    view.line(1, "one")
    view.close()
    assert capsys.readouterr() == ("[rank 1] one\n", "")


def test_logs_are_explained_where_that_part_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rank_0.log").write_text("EI0006\n")
    asked = []

    def explain(paths: list[Path]) -> SimpleNamespace:
        asked.extend(paths)
        return SimpleNamespace(is_known=True)

    log, report = ModuleType("log"), ModuleType("explain")
    log.explain = explain  # type: ignore[attr-defined]
    report.text = lambda result: iter(["what: a rank did not come"])  # type: ignore[attr-defined]
    for name in ("jumar.machine", "jumar.machine.explain"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, "jumar.machine.explain.log", log)
    monkeypatch.setitem(sys.modules, "jumar.report.explain", report)
    assert why(tmp_path) == ["what: a rank did not come"]
    assert asked == [tmp_path / "rank_0.log"]


def test_nothing_is_explained_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jumar.machine.explain.log", None)
    assert why(tmp_path) == []
