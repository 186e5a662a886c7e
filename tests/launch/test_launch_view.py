"""What a person sees: the live line on a terminal, and what a failed job's logs mean."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from jumar.app.launch import why
from jumar.cli.ranks_view import RanksView
from jumar.report import explain


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


def test_logs_of_ranks_are_explained_where_they_are_known(tmp_path: Path) -> None:
    (tmp_path / "rank_0.log").write_text("fine\n")
    (tmp_path / "rank_1.log").write_text("RuntimeError: NPU out of memory. Tried to allocate 72 MiB\n")
    (tmp_path / "other.log").write_text("EI0006\n")
    found = why(tmp_path)
    assert found is not None
    assert [file.name for file in found.files] == [str(tmp_path / f"rank_{rank}.log") for rank in (0, 1)]
    assert "the NPU ran out of memory" in "\n".join(explain.text(found))


def test_nothing_is_said_about_logs_that_are_not_known(tmp_path: Path) -> None:
    (tmp_path / "rank_0.log").write_text("Killed by a cosmic ray\n")
    assert why(tmp_path) is None
