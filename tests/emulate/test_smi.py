"""npu-smi and hccn_tool of the emulated machine: layouts of each chip, live rows, rows of dead processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jumar.emulate import hccn_tool, ledger
from jumar.emulate.smi import main as smi
from program_files import program_text

Golden = Callable[[str, str], None]
CHIPS = ["Ascend310B4", "Ascend310P3", "Ascend910A", "Ascend910B3", "Ascend910_9391", "Ascend950PR_9599"]


@pytest.fixture(autouse=True)
def _machine(monkeypatch: pytest.MonkeyPatch, machine: str, tmp_path: Path) -> None:
    monkeypatch.setenv("JUMAR_MACHINE", machine)
    monkeypatch.setenv("JUMAR_CARDS", "2")
    monkeypatch.setenv("JUMAR_PREFIX", str(tmp_path))
    for name in ("JUMAR_SOC", "JUMAR_MEMORY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def rows(machine: str) -> Iterator[Callable[..., str]]:
    """Writes the shared table as the stand-ins would, and removes it."""
    path = f"{ledger.FOLDER}/jumar-{os.getuid()}-{machine}"

    def write(*found: tuple[int, int, int, str]) -> str:
        data = ledger._HEAD.pack(ledger._MAGIC, 1024, 2, 0, 64 << 30, b"Ascend910B3")
        for pid, card, used, name in found:
            started = ledger._start_time(pid)
            data += ledger._ROW.pack(pid, card, max(started, 0), used, name.encode())
        Path(path).write_bytes(data.ljust(ledger._HEAD.size + 1024 * ledger._ROW.size, b"\0"))
        return path

    yield write
    Path(path).unlink(missing_ok=True)


@pytest.mark.parametrize("soc", CHIPS)
def test_table_has_the_layout_of_the_chip(
    soc: str, golden: Golden, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JUMAR_SOC", soc)
    assert smi.main(["info"]) == 0
    golden(f"npu-smi/{soc}.txt", capsys.readouterr().out)


@pytest.mark.parametrize("soc", ["Ascend910A", "Ascend910_9391", "Ascend310P3", "Ascend950PR_9599"])
def test_queries_have_the_layout_of_the_chip(
    soc: str, golden: Golden, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JUMAR_SOC", soc)
    kinds = ("usages", "board", "memory", "common", "health", "temp", "power", "ecc", "proc-mem")
    commands = [["-v"], ["info", "-l"], ["info", "-m"], *(["info", "-t", kind, "-i", "0"] for kind in kinds)]
    for words in [*commands, ["info", "-t", "board", "-i", "0", "-c", "0"], ["info", "proc-mem", "-i", "0"]]:
        print("$ npu-smi", *words)
        assert smi.main(words) == 0
    golden(f"npu-smi/queries-{soc}.txt", capsys.readouterr().out)


def test_processes_and_memory_are_shown(rows: Callable[..., str], capsys: pytest.CaptureFixture[str]) -> None:
    rows((os.getpid(), 1, 3 << 30, "python3"))
    smi.main(["info"])
    out = capsys.readouterr().out
    assert "3072 / 65536" in out
    assert (
        f"| 1       0                 | {os.getpid():<13} | python3                  | 3072                    |" in out
    )
    assert "| No running processes found in NPU 0 " in out
    assert "No running processes found in NPU 1" not in out
    smi.main(["info", "-t", "usages", "-i", "1"])
    assert "HBM Usage Rate(%)              : 5" in capsys.readouterr().out
    smi.main(["info", "-t", "proc-mem", "-i", "1"])
    assert f"Process id:{os.getpid()}" in capsys.readouterr().out


def test_rows_of_dead_processes_are_removed(rows: Callable[..., str]) -> None:
    dead = subprocess.Popen([sys.executable, "-c", "pass"])
    dead.wait()
    path = rows((dead.pid, 0, 1 << 30, "python3"), (os.getpid(), 0, 1 << 20, "pytest"))
    assert [row.pid for row in ledger.read(path)] == [os.getpid()]
    assert os.path.exists(path)
    path = rows((dead.pid, 0, 1 << 30, "python3"))
    assert ledger.read(path) == []
    assert not os.path.exists(path)


def test_a_file_of_another_kind_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"x" * 100_000)
    assert ledger.read(str(tmp_path / "other")) == []
    assert (tmp_path / "other").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["set", "-t", "power"], "`npu-smi set` is not emulated"),
        (["info", "-t", "lots", "-i", "0"], "`-t lots` is not emulated; these are: board"),
        (["info", "-t", "usages"], "`-t usages` needs `-i NPU`"),
        (["info", "-t", "usages", "-i", "9"], "no such NPU or chip: this machine has NPU 0 to 1"),
        (["info", "-t", "usages", "-i", "x"], "are numbers"),
        (["info", "--all"], "cannot read `npu-smi info --all`"),
    ],
)
def test_what_is_not_there_is_refused(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert smi.main(words) == 1
    assert message in capsys.readouterr().err


def test_watch_goes_on_until_interrupted(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    turns = iter([None, KeyboardInterrupt()])

    def sleep(seconds: float) -> None:
        if error := next(turns):
            raise error

    monkeypatch.setattr(smi.time, "sleep", sleep)
    assert smi.main(["info", "watch", "-i", "1"]) == 130
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("NpuID(Idx)  ChipId(Idx) Pwr(W)")
    assert [line.split()[:2] for line in lines[1:]] == [["1", "0"], ["1", "0"]]


def test_device_addresses_are_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "hccn.conf").write_text(hccn_tool.default_conf(2))
    words = ["-i", "1", "-ip", "-s", "address", "10.0.0.7", "netmask", "255.255.0.0"]
    assert hccn_tool.main(words) == 0
    assert hccn_tool.main(["-i", "1", "-ip", "-g"]) == 0
    assert hccn_tool.main(["-i", "0", "-ip", "-g"]) == 0
    out = capsys.readouterr().out
    assert out == "ipaddr:10.0.0.7\nnetmask:255.255.0.0\nipaddr:192.168.100.101\nnetmask:255.255.255.0\n"


def test_hccn_tool_answers_and_refuses(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert hccn_tool.main(["-i", "0", "-link", "-g"]) == 0
    assert hccn_tool.main(["-g", "-link", "-i", "0", "-u", "0", "-p", "4"]) == 0
    assert hccn_tool.main(["-i", "0", "-net_health", "-g"]) == 0
    assert hccn_tool.main(["-i", "0", "-tls", "-g"]) == 0
    assert "tls switch[0]" in capsys.readouterr().out
    assert hccn_tool.main(["-i", "0", "-optical", "-g"]) == 1
    assert "this query is not emulated" in capsys.readouterr().err
    assert hccn_tool.main(["-i", "7", "-ip", "-g"]) == 1
    assert "a device from 0 to 1" in capsys.readouterr().err
    monkeypatch.setenv("JUMAR_SOC", "Ascend310P3")
    assert hccn_tool.main(["-i", "0", "-ip", "-g"]) == 1
    assert "has no network port" in capsys.readouterr().err


_HOLD = program_text(__file__, "hold_a_card")


def test_live_process_is_shown_until_it_is_killed(emulator: None, capsys: pytest.CaptureFixture[str]) -> None:
    process = subprocess.Popen([sys.executable, "-c", _HOLD], stdin=-1, stdout=-1, text=True)
    assert process.stdout and process.stdin
    with process:
        assert process.stdout.readline() == "ready\n"
        smi.main(["info", "-t", "proc-mem", "-i", "1"])
        assert f"Process id:{process.pid}  Process name:python" in capsys.readouterr().out
        smi.main(["info"])
        assert "64   / 65536" in capsys.readouterr().out
        process.kill()
        process.wait()
        smi.main(["info"])
        assert capsys.readouterr().out.count("No running processes found") == 2
