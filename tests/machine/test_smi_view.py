"""`jumar smi` on recorded answers of npu-smi, on broken ones, and on the emulated machine."""

from __future__ import annotations

import json
import os
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jumar.core.errors import UserError
from jumar.machine.probe import LATE, MISSING, Ran
from jumar.machine.smi import read, serve
from jumar.machine.smi.free import why_not
from jumar.machine.smi.result import View
from jumar.report import smi

Run = Callable[..., Any]
SAMPLES = Path(__file__).parent / "samples"
INFOS = sorted(path.stem for path in SAMPLES.glob("npu_smi_info_*.txt") if path.stem.split("_")[3] not in ("l", "m"))


def _view(name: str, proc: Path = Path("/nonexistent")) -> View:
    text = (SAMPLES / f"{name}.txt").read_text(encoding="utf-8")
    return read.view(lambda: Ran(0, text), proc)


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """An npu-smi on the path that prints a sample."""

    def use(name: str) -> None:
        _program(tmp_path, monkeypatch, f"cat '{SAMPLES / name}.txt'")

    return use


def _program(folder: Path, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    program = folder / "npu-smi"
    program.write_text(f"#!/bin/sh\n{line}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


@pytest.mark.parametrize("name", INFOS)
def test_every_layout_is_shown(name: str, recorded: Callable[[str], None], jumar: Run) -> None:
    recorded(name)
    done = jumar("smi", "--once")
    assert (done.code, done.err) == (0, "")
    view = _view(name)
    for card in view.cards:
        assert card.name in done.out
    assert [card.number for card in view.cards] == list(range(len(view.cards)))
    assert len(json.loads(jumar("smi", "--json").out)["cards"]) == len(view.cards)


def test_both_dies_of_an_a3_are_cards_of_their_own() -> None:
    view = _view("npu_smi_info_A3_25.2.0_procs")
    assert [(card.npu, card.chip) for card in view.cards[:4]] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert view.cards[0].total_mib == 65536


def test_what_a_board_does_not_report_is_a_dash(recorded: Callable[[str], None], jumar: Run) -> None:
    recorded("npu_smi_info_310B4_23.0.0")
    assert "this npu-smi lists no processes" in jumar("smi", "--once").out
    assert json.loads(jumar("smi", "--json").out)["cards"][0]["processes"] is None


def test_processes_with_user_command_and_script(tmp_path: Path) -> None:
    pid = next(item.pid for card in _view("npu_smi_info_910ProB_23.0.rc1_procs").cards for item in card.processes or ())
    (tmp_path / str(pid)).mkdir()
    (tmp_path / str(pid) / "cmdline").write_bytes(b"/usr/bin/python3\0-u\0train.py\0--lr\x001\0")
    view = _view("npu_smi_info_910ProB_23.0.rc1_procs", tmp_path)
    item = next(item for card in view.cards for item in card.processes or () if item.pid == pid)
    assert (item.script, item.command) == ("train.py", "/usr/bin/python3 -u train.py --lr 1")
    assert item.user == (tmp_path.owner())


@pytest.mark.parametrize(
    ("words", "script"),
    [
        (["python", "a.py"], "a.py"),
        (["/x/python3.11", "-W", "error", "-u", "a.py", "-m"], "a.py"),
        (["python", "-m", "torch.distributed.run", "a.py"], "-m torch.distributed.run"),
        (["python", "-c", "import torch"], ""),
        (["python"], ""),
        (["bash", "a.py"], ""),
        ([], ""),
    ],
)
def test_script_of_a_process(words: list[str], script: str) -> None:
    assert read.script_of(words) == script


def test_free_cards(recorded: Callable[[str], None], jumar: Run) -> None:
    recorded("npu_smi_info_A3_25.2.0_procs")
    view = _view("npu_smi_info_A3_25.2.0_procs")
    free = [card.number for card in view.cards if not why_not(card)]
    busy = [card.number for card in view.cards if card.processes]
    assert busy and not set(free) & set(busy)
    done = jumar("smi", "free", "--cards", len(view.cards))
    assert (done.code, done.out) == (1, "")
    assert f"only {len(free)} of {len(view.cards)} cards are free" in done.err
    assert f"  card {busy[0]}: used by process " in done.err
    answer = json.loads(jumar("smi", "free", "--json").out)
    assert (answer["free"], answer["enough"]) == (free, bool(free))


def test_card_that_is_ill_or_full_is_not_free() -> None:
    card = (
        _view("npu_smi_info_generic_24.1.rc1")
        .cards[0]
        ._replace(health="OK", processes=(), used_mib=3000, total_mib=65536)
    )
    assert why_not(card) == ""
    assert why_not(card._replace(health="Alarm")) == "health is Alarm"
    assert why_not(card._replace(used_mib=60000)) == "92% of its memory is used"
    assert why_not(card._replace(used_mib=None)) == "its memory is not reported"
    assert why_not(card._replace(processes=None, busy=7)) == "its AI cores are 7% busy"
    assert why_not(card._replace(name="310B4", health="Alarm", processes=None, busy=0)) == ""


@pytest.mark.parametrize(
    ("ran", "message"),
    [
        (Ran(-9, problem=LATE), "did not answer within 10 seconds"),
        (Ran(127, problem=MISSING), "cannot run `npu-smi`"),
        (Ran(0, "| NPU | Flux capacitor |\n| 0 | 1.21 |\n"), "printed an unknown layout"),
        (Ran(0, ""), "printed an unknown layout"),
        (Ran(1, "", "npu-smi: boom\nmore"), "an unknown layout: npu-smi: boom"),
    ],
)
def test_bad_answers_are_clear_messages(ran: Ran, message: str) -> None:
    with pytest.raises(UserError, match="npu-smi") as error:
        read.view(lambda: ran)
    assert message in error.value.message


@pytest.mark.parametrize("name", ["npu_smi_fail_8005", "npu_smi_fail_8020"])
def test_failing_driver(name: str, recorded: Callable[[str], None], jumar: Run) -> None:
    recorded(name)
    done = jumar("smi", "--once")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: npu-smi failed: ")
    assert name[-4:] in done.err


def test_hanging_tool_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jumar: Run) -> None:
    _program(tmp_path, monkeypatch, "exec sleep 60")
    monkeypatch.setattr(read, "TIMEOUT", 0.3)
    done = jumar("smi", "free")
    assert (done.code, done.out) == (2, "")
    assert "did not answer within 0.3 seconds" in done.err


def test_without_npu_smi(monkeypatch: pytest.MonkeyPatch, jumar: Run) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    done = jumar("smi")
    assert done.code == 2
    assert done.err == f"error: cannot run `npu-smi`: is the driver installed?\n\nhint: {read.EMULATE}\n"


def test_metrics_have_only_reported_values() -> None:
    text = smi.metrics(_view("npu_smi_info_310B4_23.0.0"))
    labels = '{card="0",npu="0",chip="0",name="310B4"}'
    assert f"npu_temperature_celsius{labels} 65\n" in text
    assert f"npu_memory_used_bytes{labels} {3628 << 20}\n" in text
    assert f"npu_processes{labels}" not in text
    assert "None" not in text


def test_endpoint_serves_on_loopback_only() -> None:
    answers = ["npu_up 1\n", UserError("npu-smi hangs")]

    def metrics() -> str:
        answer = answers[0]
        if isinstance(answer, UserError):
            raise answer
        return answer

    with serve.server(0, metrics) as server:
        host, port = server.server_address[:2]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            assert host == "127.0.0.1"
            assert _get(f"http://127.0.0.1:{port}/metrics") == (200, "npu_up 1\n")
            assert _get(f"http://127.0.0.1:{port}/other")[0] == 404
        finally:
            server.shutdown()
            thread.join()
    answers.pop(0)
    with serve.server(0, metrics) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            assert _get(f"http://127.0.0.1:{server.server_address[1]}/") == (503, "npu-smi hangs\n")
        finally:
            server.shutdown()
            thread.join()


def test_port_in_use_is_a_clear_message() -> None:
    with serve.server(0, str) as server, pytest.raises(UserError, match=r"cannot listen on 127\.0\.0\.1"):
        serve.server(int(server.server_address[1]), str)


def _get(address: str) -> tuple[int, str]:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(address, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_sparkline() -> None:
    assert smi.sparkline([0, 50, 100, 140, -3]) == " ▄██ "


def test_emulated_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jumar: Run) -> None:
    line = f'exec "{sys.executable}" -c "import sys; from jumar.emulate.smi.main import main; sys.exit(main())" "$@"'
    _program(tmp_path, monkeypatch, line)
    monkeypatch.setenv("JUMAR_SOC", "Ascend910_9392")
    monkeypatch.setenv("JUMAR_CARDS", "4")
    done = jumar("smi", "free", "--cards", "3")
    assert (done.code, done.out) == (0, "0,1,2\n")
    assert [card["npu"] for card in json.loads(jumar("smi", "--json").out)["cards"]] == [0, 0, 1, 1]


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("name", INFOS)
def test_every_value_is_there_at_any_width(
    name: str, width: int, recorded: Callable[[str], None], jumar: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded(name)
    monkeypatch.setenv("COLUMNS", str(width))
    done = jumar("smi", "--once")
    lines = done.out.splitlines()
    assert done.code == 0 and max(map(len, lines)) <= width
    assert "…" not in done.out
    for card in _view(name).cards:
        (line,) = [line for line in lines if f" {card.npu}.{card.chip} " in line]
        for value in (card.name, card.health, card.used_mib, card.total_mib, card.temp):
            assert value is None or str(value) in line


def test_the_use_so_far_takes_only_the_room_that_is_left() -> None:
    from rich.console import Console

    view = _view(INFOS[0])
    for width in (60, 100, 160):
        console = Console(width=width)
        with console.capture() as shown:
            console.print(smi.table(view, {card.number: [100.0] * 40 for card in view.cards}, width))
        assert "…" not in shown.get()
        assert ("█" * 10 in shown.get()) == (width >= 100)
