"""A rank that is killed, stopped or does something else: the others end with its name, soon, and nothing is left."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from ranks import Outcome, Ranks
from running import Run

from program_files import program_text

_LOST = """
def main(rank, size):
    start(rank, size)
    x = torch.ones(1000).npu()
    dist.all_reduce(x)
    if rank == 1:
        os.kill(os.getpid(), signal.{signal})
    begin = time.monotonic()
    try:
        dist.all_reduce(x)
        torch.npu.synchronize()
    finally:
        say(time.monotonic() - begin)
        if {stopped}:
            os.kill(int(open(f"{{FOLDER}}/pid").read()), signal.SIGKILL)
"""
_MISMATCH = """
def main(rank, size):
    start(rank, size)
    x = torch.ones(8).npu()
    dist.all_reduce(x)
    if rank == 1:
        {odd}
    else:
        dist.all_reduce(x)
    torch.npu.synchronize()
"""


def _mentions(outcome: Outcome, rank: int, *words: str) -> bool:
    return all(word in outcome.errors[rank] for word in words)


def test_a_killed_rank_is_named_at_once(ranks: Ranks) -> None:
    outcome = ranks(3, _LOST.format(signal="SIGKILL", stopped=False), check=False)
    assert outcome.codes[1] == -9
    assert outcome.codes[0] != 0
    assert outcome.codes[2] != 0
    for rank in (0, 2):
        assert _mentions(outcome, rank, "EI0002", "rank 1 (RANK 1, pid ", "is dead", "AllReduce")
        assert outcome.said[rank][0] < 30  # the default limit is half an hour


def test_a_stopped_rank_is_named_when_the_time_is_up(ranks: Ranks) -> None:
    source = _LOST.format(signal="SIGSTOP", stopped="rank == 0").replace(
        "if rank == 1:", "if rank == 1:\n        open(f'{FOLDER}/pid', 'w').write(str(os.getpid()))"
    )
    outcome = ranks(2, source, check=False, HCCL_EXEC_TIMEOUT="3")
    assert _mentions(outcome, 0, "timed out after 3 s (HCCL_EXEC_TIMEOUT)", "rank 1 (RANK 1, pid ", "is stopped")
    assert outcome.said[0][0] < 30


_LIMIT = """
def main(rank, size):
    if rank == 2:  # looks after the stopped one
        while not os.path.exists(f"{FOLDER}/gone"):
            time.sleep(0.05)
        first, second = (int(open(f"{FOLDER}/pid-{one}").read()) for one in range(2))
        while os.path.exists(f"/proc/{first}"):
            time.sleep(0.05)
        os.kill(second, signal.SIGKILL)
        return
    open(f"{FOLDER}/pid-{rank}", "w").write(str(os.getpid()))
    start(rank, 2, timeout=datetime.timedelta(seconds=12))
    x = torch.ones(1000).npu()
    CALL
    torch.npu.synchronize()
    if rank == 1:
        open(f"{FOLDER}/gone", "w").close()
        HOW
    CALL
    torch.npu.synchronize()
"""
_ALL_REDUCE, _ONE_SENDS = "dist.all_reduce(x)", "dist.recv(x, 1) if rank == 0 else dist.send(x, 0)"
_STOPS = "os.kill(os.getpid(), signal.SIGSTOP)"


@pytest.mark.parametrize(
    ("call", "how", "words"),
    [
        pytest.param(_ALL_REDUCE, _STOPS, "AllReduce on `.*` for rank 1 {}, which is stopped", marks=pytest.mark.slow),
        pytest.param(_ALL_REDUCE, "time.sleep(600)", "AllReduce on `.*` for rank 1 {}", marks=pytest.mark.slow),
        pytest.param(_ONE_SENDS, _STOPS, "Recv from rank 1 {}, which is stopped", marks=pytest.mark.slow),
    ],
    ids=["stopped", "late", "sender-stopped"],
)
def test_the_time_limit_of_the_process_group_holds_and_the_rank_is_named(
    ranks: Ranks, call: str, how: str, words: str
) -> None:
    outcome = ranks(3, _LIMIT.replace("CALL", call).replace("HOW", how), check=False)
    assert outcome.codes[1:] == [-9, 0]
    assert outcome.codes[0] != 0
    assert "Watchdog caught collective operation timeout" in outcome.stderr
    words = words.format(r"\(RANK 1, pid \d+, card 1\)")
    assert re.search(f"rank 0 has waited in {words}\n", outcome.stderr), outcome.stderr


def test_a_rank_that_never_comes_is_named(ranks: Ranks) -> None:
    source = """
    def main(rank, size):
        start(rank, size)
        if rank != 1:
            dist.all_reduce(torch.ones(2).npu())
        else:
            dist.destroy_process_group()
            time.sleep(4)
    """
    outcome = ranks(3, source, check=False, HCCL_CONNECT_TIMEOUT="2")
    for rank in (0, 2):
        assert _mentions(outcome, rank, "EI0006", "2 s (HCCL_CONNECT_TIMEOUT)", "have not come: 1")


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        ("dist.broadcast(torch.ones(8).npu(), 0)", "calls Broadcast(8 float32, root 0)"),
        pytest.param("dist.all_reduce(torch.ones(9).npu())", "calls AllReduce(9 float32, sum)", marks=pytest.mark.slow),
    ],
    ids=["collective", "count"],
)
def test_different_calls_are_named_on_every_rank(ranks: Ranks, odd: str, words: str) -> None:
    outcome = ranks(2, _MISMATCH.format(odd=odd), check=False)
    for rank in (0, 1):
        assert _mentions(outcome, rank, "EI0005", "rank 0", "calls AllReduce(8 float32, sum)", "rank 1", words)


_KILLS = program_text(__file__, "killed_groups")


def _of_machine(name: str) -> list[str]:
    """Processes of an emulated machine, by their environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"JUMAR_MACHINE={name}".encode() in (folder / "environ").read_bytes():
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


@pytest.mark.parametrize("rounds", [6, pytest.param(100, marks=pytest.mark.slow)])
def test_many_starts_and_kills_leave_nothing_behind(run: Run, machine: str, tmp_path: Path, rounds: int) -> None:
    for part in range(0, rounds, 25):
        folder = tmp_path / str(part)
        folder.mkdir()
        done = run(_KILLS, FOLDER=str(folder), ROUNDS=str(min(25, rounds)))
        for free, total in json.loads(done.stdout.splitlines()[-1]):
            assert free == total
        assert _of_machine(machine) == []
        assert list(Path("/dev/shm").glob(f"*{machine}*")) == []
