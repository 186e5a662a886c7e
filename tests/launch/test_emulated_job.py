"""Ranks on emulated cards with HCCL: rank tables, a killed rank, a stopped one; nothing stays in shared memory."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from starting import free_port

from jumar.emulate import env
from program_files import program_text

GROUP = program_text(__file__, "hccl_group")
FOREVER = (
    GROUP
    + """
print("ready", flush=True)
while True:
    dist.all_reduce(total)
    torch.npu.synchronize()
"""
)
ACCELERATED = program_text(__file__, "accelerated")


@pytest.fixture
def variables(mark: str) -> Iterator[dict[str, str]]:
    """An emulated machine of our own; its shared memory is gone afterwards."""
    if importlib.util.find_spec("torch_npu") is None:
        pytest.skip("torch_npu is not installed: pip install 'jumar[emulator]'")
    if not list(env.library_dir().glob("lib*.so")):
        pytest.skip("the stand-ins are not built: pip install .")
    machine = f"test-{uuid.uuid4().hex[:12]}"
    dropped = ("ASCEND", "MASTER", "OMP", "RANK", "LOCAL", "WORLD", "JUMAR", "TORCH_DEVICE", "HCCL")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    yield {**clean, "JUMAR_TEST_JOB": mark, "JUMAR_EMULATE": "1", "JUMAR_MACHINE": machine, "HCCL_EXEC_TIMEOUT": "5"}
    until = time.monotonic() + 10
    while (left := list(Path("/dev/shm").glob(f"*{machine}*"))) and time.monotonic() < until:
        time.sleep(0.05)
    assert left == []


def start(folder: Path, variables: dict[str, str], text: str, *words: str) -> subprocess.Popen[str]:
    (folder / "train.py").write_text(text)
    command = [sys.executable, "-m", "jumar", "launch", "--logs", "out", "--grace", "3", *words, "train.py"]
    return subprocess.Popen(
        command, cwd=folder, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def ready(folder: Path, job: subprocess.Popen[str], ranks: int) -> list[int]:
    """The ranks' processes, when all of them are in their loop."""
    until = time.monotonic() + 400
    logs = [folder / "out" / f"rank_{rank}.log" for rank in range(ranks)]
    while not all(log.exists() and "ready" in log.read_text() for log in logs):
        assert job.poll() is None and time.monotonic() < until, job.communicate()
        time.sleep(0.1)
    [agent] = _children(job.pid)
    found = {}
    for pid in _children(agent):
        raw = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        found[int(dict(item.split(b"=", 1) for item in raw if item)[b"RANK"])] = pid
    return [found[rank] for rank in range(ranks)]


def _children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_a_table_made_for_this_machine_is_taken(variables: dict[str, str], tmp_path: Path) -> None:
    job = start(tmp_path, variables, GROUP, "--cards", "2", "--rank-table", "auto")
    out, err = job.communicate(timeout=400)
    assert job.returncode == 0, err
    assert "jumar: no NPU found, emulating 2 x Ascend910B3" in err
    assert out.count(f"sum [3.0, 3.0, 3.0, 3.0] {tmp_path}/out/rank_table.json") == 2
    made = json.loads((tmp_path / "out" / "rank_table.json").read_text())
    assert [device["device_ip"] for device in made["server_list"][0]["device"]] == [
        "192.168.100.101",
        "192.168.101.101",
    ]


def test_a_table_for_another_machine_or_other_cards_is_refused(variables: dict[str, str], tmp_path: Path) -> None:
    device = {"device_id": "0", "device_ip": "10.9.8.7", "rank_id": "0"}
    table = {"status": "completed", "version": "1.0", "server_count": "1",
             "server_list": [{"server_id": "elsewhere", "device": [device]}]}  # fmt: skip
    (tmp_path / "table.json").write_text(json.dumps(table))
    job = start(tmp_path, variables, GROUP, "--cards", "1", "--rank-table", "table.json")
    _, err = job.communicate(timeout=400)
    assert job.returncode == 2 and "rank table `table.json` is for another machine: `elsewhere`" in err
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_killed_rank_ends_the_others(variables: dict[str, str], tmp_path: Path) -> None:
    job = start(tmp_path, variables, FOREVER, "--cards", "2")
    os.kill(ready(tmp_path, job, 2)[1], signal.SIGKILL)
    _, err = job.communicate(timeout=400)
    assert job.returncode == 128 + 9 and "rank 1 failed first, with SIGKILL" in err, err


@pytest.mark.slow
def test_a_stopped_rank_makes_the_other_give_up_and_is_killed(variables: dict[str, str], tmp_path: Path) -> None:
    job = start(tmp_path, variables, FOREVER, "--cards", "2")
    os.kill(ready(tmp_path, job, 2)[1], signal.SIGSTOP)
    _, err = job.communicate(timeout=400)
    assert job.returncode not in (0, 2) and "error: rank 0 failed first" in err, err


@pytest.mark.slow
def test_killed_launchers_leave_no_rank_port_or_table(variables: dict[str, str], tmp_path: Path) -> None:
    port = free_port()
    for turn in range(6):
        folder = tmp_path / str(turn)
        folder.mkdir()
        job = start(folder, variables, FOREVER, "--cards", "2", "--port", str(port))
        if turn % 2:
            ready(folder, job, 2)
        else:
            _wait_for(lambda logs=folder / "out": logs.exists())
            time.sleep(0.4 * turn)
        job.kill()
        job.communicate()
        _wait_for(lambda: _can_bind(port))
    # Nobody was left to take the killed ranks out of the table of cards: the next start does it.
    job = start(tmp_path, variables, GROUP, "--cards", "2", "--port", str(port))
    _, err = job.communicate(timeout=400)
    assert job.returncode == 0, err


def _can_bind(port: int) -> bool:
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind(("", port))
        except OSError:
            return False
        return True


def _wait_for(done: Callable[[], bool]) -> None:
    until = time.monotonic() + 120
    while not done():
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.slow
def test_accelerate_trains_on_two_cards_as_on_one(variables: dict[str, str], tmp_path: Path) -> None:
    if importlib.util.find_spec("accelerate") is None:
        pytest.skip("accelerate is not installed: pip install accelerate")
    (tmp_path / "train.py").write_text(ACCELERATED)
    jumar = [sys.executable, "-m", "jumar"]
    its_own = [*jumar, "run", "--cards", "2", "-m", "accelerate.commands.launch", "--num_processes"]
    said = []
    for words in ([*its_own, "1"], [*its_own, "2"], [*jumar, "launch", "--cards", "2", "--logs", "out"]):
        done = subprocess.run(
            [*words, "train.py"], cwd=tmp_path, env=variables, capture_output=True, text=True, check=False, timeout=400
        )
        assert done.returncode == 0, done.stderr[-3000:]
        [line] = [line.partition("RESULT ")[2] for line in done.stdout.splitlines() if "RESULT" in line]
        said.append(line.split())
    assert [one[:2] for one in said] == [["NO", "npu"], ["MULTI_NPU", "npu"], ["MULTI_NPU", "npu"]]
    loss, weight = map(float, said[0][2:])
    for one in said[1:]:
        assert [float(number) for number in one[2:]] == pytest.approx([loss, weight, weight], rel=1e-5)
