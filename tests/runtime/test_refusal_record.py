"""The record of refusals and fallbacks: what is written, by several processes, and how it is read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from jumar.runtime import refusals, variables
from jumar.runtime.refusals import Kind, Refusal
from program_files import program_file


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "refusals"
    monkeypatch.setenv(variables.REFUSAL_FILE.name, str(path))
    return path


def test_each_line_is_written_once(record: Path) -> None:
    for _ in range(2):
        refusals.note(Kind.OPERATOR, "npu::npu_iou")
        refusals.note(Kind.FALLBACK, "aten::eig")
    assert record.read_text() == "operator\tnpu::npu_iou\nfallback\taten::eig\n"


def test_another_file_is_another_record(record: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refusals.note(Kind.OPERATOR, "npu::npu_iou")
    monkeypatch.setenv(variables.REFUSAL_FILE.name, f"{record}-2")
    refusals.note(Kind.OPERATOR, "npu::npu_iou")
    assert refusals.read(record) == refusals.read(Path(f"{record}-2")) == (Refusal(Kind.OPERATOR, "npu::npu_iou"),)


def test_nothing_is_written_unasked(record: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(variables.REFUSAL_FILE.name)
    refusals.note(Kind.OPERATOR, "npu::npu_iou")
    assert not record.exists() and refusals.read(record) == ()


def test_a_record_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variables.REFUSAL_FILE.name, str(tmp_path / "missing" / "refusals"))
    refusals.note(Kind.FUNCTION, "aclrtFoo")


def test_damaged_lines_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "refusals"
    path.write_text("function\taclrtFoo\nfunction\taclrtFoo\nno line\nwhat\tever\n\narguments\tnpu::npu_ls")
    assert refusals.read(path) == (Refusal(Kind.FUNCTION, "aclrtFoo"),)


def test_lines_of_several_processes_stay_whole(record: Path) -> None:
    words = [sys.executable, str(program_file(__file__, "note_refusals"))]
    running = [subprocess.Popen([*words, str(number)]) for number in range(3)]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    wanted = {Refusal(Kind.OPERATOR, f"npu::{number}_{'x' * at}") for number in range(3) for at in range(300)}
    assert set(refusals.read(record)) == wanted
    assert len(record.read_text().splitlines()) == len(wanted)
