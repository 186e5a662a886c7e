"""Ranks of this machine, really started: variables, logs, failures, signals, restarts, time of day."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from starting import Launch, free_port

from program_files import program_text

SHOW = """
import json, os, sys
names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "RANK_ID", "RANK_SIZE", "DEVICE_ID",
         "ASCEND_RT_VISIBLE_DEVICES", "RANK_TABLE_FILE", "OMP_NUM_THREADS")
print(json.dumps({**{name: os.environ.get(name) for name in names}, "args": sys.argv[1:], "stdin": sys.stdin.read(),
                  "cores": sorted(os.sched_getaffinity(0))}))
sys.stderr.write("to stderr\\n")
"""
MEET = program_text(__file__, "meet")
FAIL = """
import os, subprocess, sys, time
if os.environ["RANK"] == "1":
    print("the reason is here")
    sys.exit(7)
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
time.sleep(600)
"""
HOLD = program_text(__file__, "hold_until_killed")
AGAIN = """
import os, sys
print("attempt", os.environ["TORCHELASTIC_RESTART_COUNT"], "of rank", os.environ["RANK"])
sys.exit(3 if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0" and os.environ["RANK"] == "0" else 0)
"""


Jumar = Callable[..., Any]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of our own, without NPUs and without emulated ones."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JUMAR_EMULATE", "0")
    monkeypatch.delenv("ASCEND_RT_VISIBLE_DEVICES", raising=False)
    return tmp_path


def write(folder: Path, text: str) -> str:
    (folder / "train.py").write_text(text)
    return "train.py"


def test_ranks_get_their_variables_arguments_and_logs(launch: Launch, tmp_path: Path) -> None:
    done = launch("--cards", "2,5", "--logs", "out", write(tmp_path, SHOW), "--name", "two words",
                  ASCEND_RT_VISIBLE_DEVICES="2,5,7")  # fmt: skip
    assert done.returncode == 0, done.stderr
    logs = [(tmp_path / "out" / f"rank_{rank}.log").read_text().splitlines() for rank in range(2)]
    for rank, lines in enumerate(logs):
        one = json.loads(lines[0])
        assert (one["RANK"], one["LOCAL_RANK"], one["WORLD_SIZE"]) == (str(rank), str(rank), "2")
        assert (one["RANK_ID"], one["RANK_SIZE"], one["DEVICE_ID"]) == (str(rank), "2", str(rank))
        assert one["MASTER_ADDR"] == "127.0.0.1" and int(one["MASTER_PORT"]) > 0
        assert one["ASCEND_RT_VISIBLE_DEVICES"] == "2,5" and one["RANK_TABLE_FILE"] is None
        assert one["args"] == ["--name", "two words"] and one["stdin"] == ""
        assert lines[1] == "to stderr"
    assert "[rank 1] to stderr" in done.stdout
    assert "[1] to stderr" in (tmp_path / "out" / "all.log").read_text()
    assert "all 2 ranks finished" in done.stderr


def test_ranks_get_the_cores_and_the_port_that_were_named(launch: Launch, tmp_path: Path) -> None:
    core, port = min(os.sched_getaffinity(0)), free_port()
    done = launch(
        "--cards", 2, "--bind", f"{core}:{core}", "--port", port, "--logs", "out", write(tmp_path, SHOW)
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for rank in range(2):
        one = json.loads((tmp_path / "out" / f"rank_{rank}.log").read_text().splitlines()[0])
        assert one["cores"] == [core] and one["MASTER_PORT"] == str(port) and one["OMP_NUM_THREADS"] == "1"


def test_a_process_group_meets_and_its_throughput_is_told(launch: Launch, tmp_path: Path) -> None:
    done = launch("--cards", 2, write(tmp_path, MEET))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("sum 3") == 2
    assert "last throughput: rank 0: 123.5 samples/s" in done.stderr


def test_the_first_failure_ends_everybody_and_is_shown(launch: Launch, tmp_path: Path) -> None:
    done = launch("--cards", 3, "--logs", "out", write(tmp_path, FAIL))
    assert done.returncode == 7, done.stderr
    assert "  the reason is here" in done.stderr
    assert "error: rank 1 failed first, with exit code 7: `" in done.stderr and "rank_1.log" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_killed_rank_is_named_with_its_signal(launch: Launch, tmp_path: Path) -> None:
    kill = "import os, signal\nif os.environ['RANK'] == '0': os.kill(os.getpid(), signal.SIGKILL)\n"
    done = launch("--cards", 2, write(tmp_path, kill + "import time; time.sleep(600)"))
    assert done.returncode == 128 + 9, done.stderr
    assert "rank 0 failed first, with SIGKILL (out of memory?)" in done.stderr


def test_all_ranks_start_again_after_a_failure(launch: Launch, tmp_path: Path) -> None:
    done = launch("--cards", 2, "--restarts", 2, "--logs", "out", write(tmp_path, AGAIN))
    assert done.returncode == 0, done.stderr
    log = (tmp_path / "out" / "rank_0.log").read_text()
    assert log == "attempt 0 of rank 0\njumar: restart 1 of 2\nattempt 1 of rank 0\n"


class Running:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def end(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=120)
        return self.process.returncode, out, err


@pytest.fixture
def running(environment: dict[str, str], tmp_path: Path) -> Callable[..., Running]:
    """Start it and wait until two ranks are ready."""

    def start(*words: str) -> Running:
        process = subprocess.Popen(
            [sys.executable, "-m", "jumar", "launch", "--cards", "2", "--logs", "out", *words],
            cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        until = time.monotonic() + 120
        while not all((tmp_path / f"ready.{rank}").exists() for rank in range(2)):
            assert process.poll() is None and time.monotonic() < until, process.communicate()
            time.sleep(0.02)
        return Running(process)

    return start


SLOW_SIGNALS = [pytest.param(number, marks=pytest.mark.slow) for number in (signal.SIGTERM, signal.SIGHUP)]


@pytest.mark.parametrize("number", [signal.SIGINT, *SLOW_SIGNALS])
def test_a_signal_lets_ranks_save_and_leaves_nothing(
    running: Callable[..., Running], tmp_path: Path, number: int
) -> None:
    job = running(write(tmp_path, HOLD))
    job.process.send_signal(number)
    code, out, err = job.end()
    assert code == 128 + number, err
    assert out.count("saved on") == (0 if number == signal.SIGHUP else 2)
    assert "stopped all ranks" in err and "Traceback" not in err


@pytest.mark.slow
def test_a_second_signal_kills_at_once(running: Callable[..., Running], tmp_path: Path) -> None:
    job = running("--grace", "600", write(tmp_path, HOLD.replace("sys.exit(0)", "pass")))
    job.process.send_signal(signal.SIGINT)
    until = time.monotonic() + 120
    while (tmp_path / "out" / "rank_1.log").read_text().count("saved") == 0 and time.monotonic() < until:
        time.sleep(0.02)
    job.process.send_signal(signal.SIGINT)
    code, _, err = job.end()
    assert code == 130 and "killing all ranks" in err, err


def test_a_killed_launcher_takes_its_ranks_along(running: Callable[..., Running], tmp_path: Path) -> None:
    job = running("--grace", "2", write(tmp_path, HOLD))
    job.process.kill()
    assert job.end()[0] == -9  # the fixture `mark` checks that nobody is left


def test_a_stopped_rank_is_killed_when_another_fails(running: Callable[..., Running], tmp_path: Path) -> None:
    job = running("--grace", "1", write(tmp_path, HOLD))
    pids = _pids(job.process.pid)
    os.kill(pids[0], signal.SIGSTOP)
    os.kill(pids[1], signal.SIGKILL)
    code, _, err = job.end()
    assert code == 128 + 9 and "rank 1 failed first" in err, err


def _pids(launcher: int) -> list[int]:
    """The ranks in their order: children of the agent, which is the launcher's child."""

    def children(pid: int) -> list[int]:
        return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    [agent] = children(launcher)
    ranks = {}
    for pid in children(agent):
        values = dict(item.split(b"=", 1) for item in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0") if item)
        ranks[int(values[b"RANK"])] = pid
    return [ranks[rank] for rank in sorted(ranks)]


@pytest.mark.slow
def test_until_tells_the_ranks_in_time(launch: Launch, tmp_path: Path) -> None:
    for patience in (20, 60, 180):  # a busy machine may not even have started the ranks when they are told
        soon = (datetime.now() + timedelta(seconds=patience)).strftime("%H:%M:%S")
        done = launch("--cards", 2, "--until", soon, "--grace", 4, "--signal", "usr1", write(tmp_path, HOLD))
        if done.stdout.count("ready") == 2:
            break
    assert done.returncode == 124, done.stderr
    assert done.stdout.count(f"saved on {int(signal.SIGUSR1)}") == 2
    assert f"told all ranks with SIGUSR1 to save; they are killed at {soon}" in done.stderr
    assert "ended by `--until`: all ranks ended in time" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--cards", "2", "--until", "25:00", "train.py"], "`25:00` is not a time of day"),
        (["--cards", "2", "--signal", "KILL", "train.py"], "`KILL` is not one of TERM"),
        (["--cards", "2", "--bind", "0-x", "train.py"], "`0-x` is not a core"),
        (["--cards", "2", "--bind", "90000", "train.py"], "no such core here: 90000"),
        (["--cards", "x", "train.py"], "say how many with `--cards`"),
        (["train.py"], "say how many with `--cards`"),
        (["--cards", "2", "trian.py"], "did you mean `train.py`?"),
        (["--cards", "2"], "nothing to run"),
        (["--cards", "2", "--port", "70000", "train.py"], "70000 is not a port"),
        (["--cards", "2", "--restarts", "-1", "train.py"], "`--restarts` takes 0 or more"),
        (["--cards", "2", "alone.py"], "`alone.py` makes no process group: each of 2 cards would train"),
    ],
)
def test_wrong_input_is_refused(jumar: Jumar, here: Path, words: list[str], said: str) -> None:
    write(here, SHOW)
    (here / "alone.py").write_text("import torch\nprint(torch.ones(1))\n")
    done = jumar("launch", *words)
    assert done.code == 2
    assert said in done.err and "Traceback" not in done.err
    assert not (here / "logs").exists()


def test_cards_that_are_not_visible_are_refused(jumar: Jumar, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_RT_VISIBLE_DEVICES", "0,1")
    done = jumar("launch", "--cards", "0,9", write(here, SHOW))
    assert done.code == 2 and "there is no card 9" in done.err
    done = jumar("launch", "--cards", "3", "train.py")
    assert done.code == 2 and "there are 2 real NPUs" in done.err


def test_a_busy_port_is_refused(jumar: Jumar, here: Path) -> None:
    with socket.socket() as other:
        other.bind(("", 0))
        other.listen()
        port = other.getsockname()[1]
        done = jumar("launch", "--cards", 2, "--port", port, write(here, SHOW))
    assert done.code == 2 and f"cannot use port {port}: another program uses the port" in done.err


def two_machines(environment: dict[str, str], folder: Path, *words: str, options: tuple[str, ...] = ()) -> list[str]:
    """Two launchers on this machine play two machines: what each of them shows."""
    port = str(free_port())
    jobs = [
        subprocess.Popen(
            [sys.executable, "-m", "jumar", "launch", "--cards", "1", "--of", "2", "--node-rank", str(rank), "--master",
             "127.0.0.1", "--port", port, "--grace", "3", "--logs", "out", *options, "train.py", *words],
            cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for rank in range(2)
    ]  # fmt: skip
    shown = []
    for job in jobs:
        out, err = job.communicate(timeout=200)
        assert job.returncode == 0, err
        shown.append(out)
    return shown


def test_two_machines_meet_and_ranks_follow_their_order(environment: dict[str, str], tmp_path: Path) -> None:
    write(tmp_path, MEET)
    for rank, out in enumerate(two_machines(environment, tmp_path)):
        assert f"[rank {rank}] rank {rank} of 2: sum 3, " in out
        assert (tmp_path / "out" / f"node_{rank}" / f"rank_{rank}.log").exists()


@pytest.mark.slow
def test_two_machines_start_again_together(environment: dict[str, str], tmp_path: Path) -> None:
    write(tmp_path, MEET)
    shown = two_machines(environment, tmp_path, "--fail", options=("--restarts", "2"))
    assert all(out.count("sum 3") >= 2 for out in shown), shown
    assert any("jumar: restart 1 of 2" in out for out in shown)
