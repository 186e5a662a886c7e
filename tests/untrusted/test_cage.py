"""Hostile programs in the cage, as this user and, where the tests run as root, as an ordinary one too."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from attempts import ALL, ENDLESS

import jumar

SECRET = "a-secret-that-stays-at-home"
_ORDINARY = 54321
"""A user id that nobody has."""
_PATIENCE = 1.0
"""Seconds after which a program that does not end is ended."""
_LIMIT = 60.0
"""Seconds for the others, however busy the machine is."""


class User(NamedTuple):
    """Who points Jumar at the repository: an id, an interpreter and packages that this id can read, a home."""

    id: int
    python: str
    packages: str
    home: Path
    server: socket.socket
    name: str
    by: str
    """What makes the cage."""

    def run(self, words: list[str], **more: Any) -> subprocess.CompletedProcess[str]:
        """As this user, with an environment that holds a secret."""
        own = {"user": self.id, "group": self.id, "extra_groups": []} if self.id != os.getuid() else {}
        env = {
            "PATH": os.environ["PATH"], "HOME": str(self.home), "AWS_SECRET_ACCESS_KEY": SECRET, "TOKEN": SECRET,
            "PYTHONPATH": self.packages, "TMPDIR": str(self.home),
        }  # fmt: skip
        return subprocess.run(words, env=env, cwd=self.home, capture_output=True, text=True, check=False, **own, **more)


@pytest.fixture(scope="module", params=["this user", "ordinary user", "bubblewrap"])
def user(request: pytest.FixtureRequest, namespaces: None) -> Iterator[User]:
    ordinary, by = request.param != "this user", "bubblewrap" if request.param == "bubblewrap" else "namespaces"
    if by == "bubblewrap" and not shutil.which("bwrap"):
        pytest.skip("bubblewrap is not installed")
    if ordinary and os.getuid() != 0:
        pytest.skip("the tests run as an ordinary user already")
    python = shutil.which("python3", path="/usr/bin:/bin") if ordinary else sys.executable
    if python is None:
        pytest.skip("no interpreter that every user can start")
    folder = Path(tempfile.mkdtemp(prefix="jumar-hostile-"))
    folder.chmod(0o755)
    packages = Path(jumar.__file__).parents[1]
    if ordinary:
        shutil.copytree(
            packages / "jumar", folder / "packages" / "jumar", ignore=shutil.ignore_patterns("*.so", "*.json")
        )
        packages = folder / "packages"
    home = folder / "home"
    with _world(home) as server:
        id_ = _ORDINARY if ordinary else os.getuid()
        if ordinary:
            for path in (home, *home.rglob("*")):
                os.chown(path, id_, id_, follow_symlinks=False)
        yield User(id_, python, str(packages), home, server, uuid.uuid4().hex, by)
    shutil.rmtree(folder)


def _world(home: Path) -> socket.socket:
    """What a user has: keys, credentials, an agent's socket, a pipe, a server on the loopback."""
    for name in (".ssh/id_rsa", ".aws/credentials"):
        (home / name).parent.mkdir(parents=True)
        (home / name).write_text(f"{SECRET}\n")
    (home / ".bashrc").write_text("# mine\n")
    os.mkfifo(home / "fifo")
    agent = socket.socket(socket.AF_UNIX)
    agent.bind(str(home / "agent.sock"))
    server = socket.create_server(("127.0.0.1", 0))
    agent.close()
    return server


def _content(home: Path) -> dict[str, bytes]:
    return {path.relative_to(home).as_posix(): path.read_bytes() for path in home.rglob("*") if path.is_file()}


def _processes(name: str) -> list[str]:
    found = []
    for entry in os.listdir("/proc"):
        try:
            if entry.isdecimal() and name.encode() in Path(f"/proc/{entry}/cmdline").read_bytes():
                found.append(entry)
        except OSError:
            continue
    return found


def _attempt(user: User, tmp_path: Path, name: str) -> dict[str, Any]:
    project = user.home / "project"
    shutil.rmtree(project, ignore_errors=True)
    project.mkdir()
    os.chown(project, user.id, user.id)
    mark = f"jumar-hostile-{uuid.uuid4().hex}"
    bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", "bystander"])
    words = {"HOST": str(user.home), "PID": str(bystander.pid), "PORT": str(user.server.getsockname()[1]),
             "PROJECT": str(project), "NAME": user.name}  # fmt: skip
    code = f"{ALL[name]}\n# {mark}\n"
    for word, value in words.items():
        code = code.replace(word, value)
    spec = user.home / "spec.json"
    seconds = _PATIENCE if name in ENDLESS else _LIMIT
    spec.write_text(json.dumps({"project": str(project), "code": code, "seconds": seconds, "by": user.by}))
    spec.chmod(0o644)
    before = _content(user.home)
    done = user.run([user.python, str(Path(__file__).with_name("attempt.py")), str(spec)], timeout=120)
    try:
        assert done.returncode == 0, done.stderr
        result: dict[str, Any] = json.loads(done.stdout)
        assert bystander.poll() is None, "a process of the user was ended"
    finally:
        bystander.kill()
        bystander.wait()
    assert _content(user.home) == before, "a file of the user was changed"
    assert not _processes(mark), "a process was left"
    for folder in ("/sys/fs/cgroup", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids"):
        assert not Path(folder, f"jumar-{result['launcher']}").exists(), "a control group was left"
    assert SECRET not in done.stdout + done.stderr
    return result


@pytest.mark.parametrize("name", sorted(ALL))
def test_nothing_gets_out(name: str, user: User, tmp_path: Path) -> None:
    result = _attempt(user, tmp_path, name)
    assert "OUT" not in result["output"], result["output"]
    assert result["held"]["by"] == user.by
    ends = name not in ENDLESS
    assert (result["code"] is not None) or not ends, result
    user.server.settimeout(0)
    with pytest.raises(BlockingIOError):
        user.server.accept()
    if name.startswith("collect-"):
        (handed,) = result["files"].values() or [""]
        assert SECRET not in handed and "root:" not in handed and handed in ("", "mine", "\0" * 200)
    if name == "forge-status":
        assert result["code"] == 3 and result["files"] == {f"{user.home}/project/result": ""}


def test_there_are_enough_attempts() -> None:
    assert len(ALL) >= 60
