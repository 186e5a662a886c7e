"""`--nodes` for real: an ssh server of our own on this machine plays two machines."""

from __future__ import annotations

import getpass
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from starting import Launch, free_port

from program_files import program_text

MEET = program_text(__file__, "meet")
FAIL = """
import os, sys, time
if os.environ["RANK"] == "1":
    sys.exit(5)
time.sleep(600)
"""
HOLD = """
import os, time
open(f"ready.{os.environ['RANK']}", "w").close()
time.sleep(600)
"""


@pytest.fixture(scope="module")
def ssh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The ssh command that reaches our server."""
    program = shutil.which("sshd", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin")
    if program is None or shutil.which("ssh-keygen") is None or shutil.which("ssh") is None:
        pytest.skip("ssh or sshd is not installed (Debian: openssh-server)")
    folder = tmp_path_factory.mktemp("ssh")
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True, timeout=30)
    port = free_port()
    (folder / "sshd_config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/user.pub\n"
        "PidFile none\nUsePAM no\nStrictModes no\n"
    )
    command = [program, "-D", "-e", "-f", str(folder / "sshd_config")]
    if (test := subprocess.run([*command[:1], "-t", *command[3:]], capture_output=True, text=True)).returncode:
        pytest.skip(f"sshd does not start here: {test.stderr.strip()[-200:]}")
    server = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    options = f"-p {port} -i {folder}/user -l {getpass.getuser()} -F none -o StrictHostKeyChecking=no"
    words = f"ssh {options} -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
    try:
        until = time.monotonic() + 60
        while subprocess.run([*words.split(), "127.0.0.1", "true"], capture_output=True).returncode:
            if time.monotonic() > until:
                pytest.skip("our ssh server does not let us in")
            time.sleep(0.1)
        yield words
    finally:
        server.terminate()
        server.wait()


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Path]:
    """Processes on the other side do not inherit from here: those of this test have its folder as theirs."""
    yield tmp_path
    until = time.monotonic() + 20
    while (left := _inside(tmp_path)) and time.monotonic() < until:
        time.sleep(0.05)
    assert left == [], "processes are left"


def _inside(folder: Path) -> list[str]:
    found = []
    for one in Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(one / "cwd") == str(folder):
                found.append((one / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


def words(ssh: str, script: str, *more: str) -> list[str]:
    return ["--cards", "1", "--nodes", "127.0.0.1,localhost", "--port", str(free_port()), "--logs", "out",
            "--grace", "3", "--set", f"ssh={ssh}", "--set", f"python={sys.executable}", *more, script]  # fmt: skip


def test_two_machines_train_together(launch: Launch, ssh: str, alone: Path) -> None:
    (alone / "train.py").write_text(MEET)
    done = launch(*words(ssh, "train.py"))
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [
        f"[rank {rank}] rank {rank} of 2: sum 3, 123.5 samples/s" for rank in range(2)
    ], done
    assert "-m jumar launch --cards 1" in done.stderr, "the commands are printed first"


@pytest.mark.slow
def test_a_failure_on_one_machine_ends_the_other(launch: Launch, ssh: str, alone: Path) -> None:
    (alone / "fail.py").write_text(FAIL)
    done = launch(*words(ssh, "fail.py"))
    assert done.returncode == 5, done
    assert "[localhost] error: rank 1 failed first, with exit code 5" in done.stderr
    assert "[127.0.0.1] jumar: stopped, no rank is left" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_or_killed_launcher_leaves_nothing_on_the_machines(
    environment: dict[str, str], ssh: str, alone: Path, number: int
) -> None:
    (alone / "hold.py").write_text(HOLD)
    command = [sys.executable, "-m", "jumar", "launch", *words(ssh, "hold.py")]
    job = subprocess.Popen(command, cwd=alone, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    until = time.monotonic() + 120
    while not all((alone / f"ready.{rank}").exists() for rank in range(2)):
        assert job.poll() is None and time.monotonic() < until, job.communicate()
        time.sleep(0.05)
    job.send_signal(number)
    job.communicate(timeout=120)
    assert job.returncode == (130 if number == signal.SIGINT else -9)


@pytest.mark.skipif(shutil.which("ssh") is None, reason="ssh is not installed")
def test_a_machine_that_cannot_be_reached_is_named(launch: Launch, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(MEET)
    closed = f"ssh -p {free_port()} -F none"
    done = launch("--cards", "1", "--nodes", "127.0.0.1", "--set", f"ssh={closed}", "train.py")
    assert done.returncode == 2
    assert "error: `127.0.0.1` cannot be reached: " in done.stderr and "Connection refused" in done.stderr


def test_a_machine_without_the_script_is_named(launch: Launch, ssh: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(MEET)
    done = launch(*words(ssh, "train.py", "--set", "folder=/nowhere/at/all"))
    assert done.returncode == 2 and "error: `127.0.0.1` cannot run it: " in done.stderr
    (tmp_path / "other").mkdir()
    done = launch(*words(ssh, "train.py", "--set", f"folder={tmp_path / 'other'}"))
    assert done.returncode == 2 and "cannot run it: the script is not there" in done.stderr
