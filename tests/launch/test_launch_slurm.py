"""`--on slurm` for real: a one-node Slurm of our own, as the current user, on ports of its own."""

from __future__ import annotations

import getpass
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from starting import Launch, free_port

from program_files import program_text

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scontrol", "scancel")
MEET = program_text(__file__, "meet")
CONF = """\
ClusterName=jumar
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
SlurmctldPort={ctld}
SlurmdPort={slurmd}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
GresTypes=npu
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
KillWait=5
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN Gres=npu:8
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=YES
"""


def _path() -> str:
    return f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/usr/local/sbin"


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the configuration of a running Slurm."""
    missing = [name for name in PROGRAMS if shutil.which(name, path=_path()) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)} (Debian: slurmctld slurmd slurm-client munge)")
    if os.geteuid() != 0:
        pytest.skip("slurmd starts jobs only as root")
    folder = tmp_path_factory.mktemp("slurm")
    for name in ("state", "spool"):
        (folder / name).mkdir()
    (folder / "key").write_bytes(os.urandom(1024))
    (folder / "key").chmod(0o400)
    host = socket.gethostname().partition(".")[0]
    ports = {"ctld": free_port(), "slurmd": free_port()}
    values = {"host": host, "user": getpass.getuser(), "folder": folder, "cpus": os.cpu_count(), **ports}
    (folder / "slurm.conf").write_text(CONF.format(**values))
    (folder / "gres.conf").write_text(f"NodeName={host} Name=npu Count=8\n")
    environment = {**os.environ, "PATH": _path(), "SLURM_CONF": str(folder / "slurm.conf")}
    munge = ["munged", "--force", *(f"--{what}={folder}/{file}" for what, file in (
        ("key-file", "key"), ("socket", "munge.sock"), ("pid-file", "munged.pid"), ("log-file", "munged.log"),
        ("seed-file", "munged.seed")))]  # fmt: skip
    try:
        for command in (munge, ["slurmctld", "-c"], ["slurmd"]):
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=30)
            if done.returncode:
                pytest.skip(f"`{command[0]}` does not start here: {done.stderr.strip()[-200:]}")
        if not _idle(environment):
            pytest.skip("the node of our Slurm does not come up here")
        yield environment["SLURM_CONF"]
    finally:
        for name in ("slurmd", "slurmctld", "munged"):
            _end(folder / f"{name}.pid")


def _idle(environment: dict[str, str]) -> bool:
    until = time.monotonic() + 30
    while time.monotonic() < until:
        done = subprocess.run(
            ["sinfo", "-h", "-o", "%T"], env=environment, capture_output=True, text=True, check=False, timeout=30
        )
        if done.stdout.strip() == "idle":
            return True
        time.sleep(0.2)
    return False


def _end(file: Path) -> None:
    try:
        pid = int(file.read_text())
        os.kill(pid, signal.SIGTERM)
    except (OSError, ValueError):
        return
    until = time.monotonic() + 15
    while Path(f"/proc/{pid}").exists() and time.monotonic() < until:
        time.sleep(0.05)


def _wait(launch: Launch, number: str, slurm: str, *states: str) -> str:
    until = time.monotonic() + 200
    said = ""
    while time.monotonic() < until:
        said = launch("--on", "slurm", "--status", number, SLURM_CONF=slurm, PATH=_path()).stdout
        if said.startswith(states):
            return said
        time.sleep(0.3)
    raise AssertionError(said)


def _log(launch: Launch, number: str, slurm: str) -> str:
    said = launch("--on", "slurm", "--log", number, SLURM_CONF=slurm, PATH=_path())
    return said.stdout + said.stderr


def test_a_job_runs_and_tells_its_state_and_log(launch: Launch, slurm: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(MEET)
    done = launch("--on", "slurm", "--cards", 2, "--logs", "out", "train.py", SLURM_CONF=slurm, PATH=_path())
    assert done.returncode == 0, done.stderr
    number = done.stdout.strip()
    assert f"job {number} is on slurm" in done.stderr
    state = _wait(launch, number, slurm, "completed", "failed")
    log = _log(launch, number, slurm)
    assert state.startswith("completed"), state + log
    assert "[rank 1] rank 1 of 2: sum 3" in log and "all 2 ranks ended well" in log


@pytest.mark.slow
def test_a_failure_and_a_cancelled_job_leave_nothing(launch: Launch, slurm: str, tmp_path: Path) -> None:
    (tmp_path / "fail.py").write_text(
        "import os, sys, time\nos.environ['RANK'] == '1' and sys.exit(7)\ntime.sleep(600)"
    )
    done = launch("--on", "slurm", "--cards", 2, "--logs", "one", "fail.py", SLURM_CONF=slurm, PATH=_path())
    state = _wait(launch, done.stdout.strip(), slurm, "completed", "failed")
    log = _log(launch, done.stdout.strip(), slurm)
    assert state.startswith("failed"), state + log
    assert "error: rank 1 failed first, with exit code 7" in log
    (tmp_path / "stay.py").write_text("import os, time\nprint(os.environ['RANK'])\ntime.sleep(600)")
    done = launch("--on", "slurm", "--cards", 2, "--logs", "two", "stay.py", SLURM_CONF=slurm, PATH=_path())
    number = done.stdout.strip()
    until = time.monotonic() + 200
    while not (tmp_path / "two" / "rank_1.log").exists() and time.monotonic() < until:
        time.sleep(0.1)
    said = launch("--on", "slurm", "--cancel", number, SLURM_CONF=slurm, PATH=_path())
    assert said.stdout == f"job {number} is cancelled\n"
    state = _wait(launch, number, slurm, "cancelled", "completed")
    log = _log(launch, number, slurm)
    assert state.startswith("cancelled"), state + log
    assert "Traceback" not in log


def test_what_slurm_does_not_know_is_told(launch: Launch, slurm: str) -> None:
    done = launch("--on", "slurm", "--status", "4711", SLURM_CONF=slurm, PATH=_path())
    assert done.returncode == 2 and "Slurm knows no job 4711" in done.stderr
    done = launch("--on", "slurm", "--cancel", "train", SLURM_CONF=slurm, PATH=_path())
    assert done.returncode == 2 and "`train` is not the number of a Slurm job" in done.stderr
