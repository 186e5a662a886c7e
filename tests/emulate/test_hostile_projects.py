"""Hostile repositories under `jumar migrate --verify`: nothing is forged, nothing gets out, nothing is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from jumar.emulate.proof import modules, sides
from jumar.emulate.proof.result import End

_JUMAR = str(Path(sys.executable).with_name("jumar"))
_SECRET = "a-secret-of-the-environment"
_ROW = """{"path": "broken.py", "end": "ok", "seconds": 0}"""
MODULES = {
    "broken": ("raise ValueError('broken')\n", End.FAILED),
    "fine": ("x = 1\n", End.OK),
    "writes_rows": (
        f"import os\nfor fd in range(3, 512):\n    try:\n        os.write(fd, b'''{_ROW}\\n''' * 3)\n"
        "    except OSError:\n        pass\nraise ValueError('broken')\n",
        End.DIED,
    ),
    "leaves_well": ("import os\nos._exit(0)\n", End.DIED),
    "leaves_often": ("import os\nfor _ in range(3):\n    os.fork()\nos._exit(0)\n", End.DIED),
    "patches": (
        'import json, os, importlib, traceback\njson.dumps = lambda *_, **__: \'{"end": "ok"}\'\n'
        "traceback.format_exception = lambda *_: []\nimportlib.import_module = lambda name: None\n"
        "raise ValueError('broken')\n",
        End.DIED,
    ),
    "says_nonsense": (
        "import json\njson.dumps = lambda *_, **__: '[' * 50_000\nraise ValueError('broken')\n",
        End.DIED,
    ),
    "says_too_much": ("raise ValueError('x' * 10_000_000)\n", End.FAILED),
    "closes_all": ("import os\nos.closerange(0, 1024)\nraise ValueError('broken')\n", End.DIED),
    "stops": ("import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)\n", End.LATE),
    "stays": (
        "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(600)\n    os._exit(0)\n",
        End.OK,
    ),
    "kills_others": (
        "import os, signal\nfor pid in range(1, 300):\n    try:\n        pid != os.getpid() and os.kill(pid, 9)\n"
        "    except OSError:\n        pass\nx = 1\n",
        End.DIED,
    ),
    "rewrites": ("open('broken.py', 'w').write('')\nopen('fine.py', 'w').write('raise ValueError')\n", End.OK),
    "zeta": ("import fine\n", End.OK),
}
"""What a module does, and the end that is told of it; none of them may speak for another."""


def test_modules_speak_only_for_themselves(emulator: None, namespaces: None, tmp_path: Path) -> None:
    top = tmp_path / "project"
    top.mkdir()
    for name, (text, _) in MODULES.items():
        (top / f"{name}.py").write_text(text)
    side = sides.side(top, sides.Limits(each=5), os.environ, (), sandbox=True)
    found = sides.import_all(side, modules.find(top))
    assert {Path(path).stem: one.end for path, one in found.items()} == {
        name: end for name, (_, end) in MODULES.items()
    }
    assert all(len(one.error) <= 500 for one in found.values())
    assert (top / "broken.py").read_text() == MODULES["broken"][0]


SHADOWS = (
    "sitecustomize",
    "usercustomize",
    "json",
    "click",
    "rich",
    "torch",
    "torch_npu",
    "numpy",
    "encodings",
    "site",
)


@pytest.mark.slow
def test_project_cannot_stand_in_for_packages(emulator: None, namespaces: None, tmp_path: Path) -> None:
    project, home = tmp_path / "project", tmp_path / "home"
    project.mkdir()
    home.mkdir()
    mark = tmp_path / "mark"
    for name in SHADOWS:
        (project / f"{name}.py").write_text(f"open({str(mark)!r}, 'a').write({name!r})\n")
    (project / "pytest.py").write_text(f"open({str(mark)!r}, 'a').write('pytest')\n")
    (project / "model.py").write_text("x = 1\n")
    (project / "test_model.py").write_text(
        "import model, os\ndef test_model():\n    assert model.x == 1\n"
        f"def test_secret():\n    assert {_SECRET!r} not in str(dict(os.environ))\n"
    )
    done = _verify(project, home, "--tests", "--json")
    assert done.returncode in (0, 3), done.stderr
    proof = json.loads(done.stdout)["proof"]
    assert proof["tests"]["counts"] == {"works as before": 2} and proof["sandbox"]["by"] == "namespaces"
    assert not mark.exists()
    assert _SECRET not in done.stdout + done.stderr


def _verify(
    project: Path, home: Path, *options: str, words: list[str] | None = None
) -> subprocess.CompletedProcess[str]:
    command = [*(words or []), _JUMAR, "migrate", ".", "--verify", *options]
    return subprocess.run(
        command, cwd=project, env=_environ(home), capture_output=True, text=True, check=False, timeout=600
    )


def _environ(home: Path) -> dict[str, str]:
    return {**os.environ, "HOME": str(home), "TMPDIR": str(home), "TOKEN": _SECRET}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_killed_run_leaves_nothing(
    number: signal.Signals, emulator: None, namespaces: None, tmp_path: Path, cache: str
) -> None:
    project, home = tmp_path / "project", tmp_path / "home"
    project.mkdir()
    home.mkdir()
    mark = f"jumar_hostile_{os.getpid()}_{number}"
    (project / "model.py").write_text(
        f"import subprocess, sys, time\nwords = [sys.executable, '-c', 'import time; time.sleep(600) # {mark}']\n"
        "subprocess.Popen(words)\ntime.sleep(600)\n"
    )
    env = {**_environ(home), "XDG_CACHE_HOME": cache}
    words = [_JUMAR, "migrate", ".", "--verify"]
    with subprocess.Popen(words, cwd=project, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        _until(lambda: bool(_processes(mark)), running)
        assert list(home.glob("jumar-proof-*"))
        running.send_signal(number)
        running.wait(60)
    _until(lambda: not _processes(mark) and not list(home.glob("jumar-*")))


def _until(true: object, running: subprocess.Popen[bytes] | None = None) -> None:
    limit = time.monotonic() + 120
    while not true():  # type: ignore[operator]
        assert time.monotonic() < limit
        assert running is None or running.poll() is None, "it ended before it was killed"
        time.sleep(0.05)


def _processes(mark: str) -> list[str]:
    found = []
    for entry in os.listdir("/proc"):
        try:
            if entry.isdecimal() and mark.encode() in Path(f"/proc/{entry}/cmdline").read_bytes():
                found.append(entry)
        except OSError:
            continue
    return found


def test_without_namespaces_nothing_runs(emulator: None, namespaces: None, tmp_path: Path, cache: str) -> None:
    project, home = tmp_path / "project", tmp_path / "home"
    project.mkdir()
    home.mkdir()
    mark = tmp_path / "mark"
    (project / "model.py").write_text(f"import torch\nx = torch.zeros(1).cuda()\nopen({str(mark)!r}, 'w')\n")
    deny = [
        "unshare",
        "--user",
        "--map-root-user",
        "sh",
        "-c",
        'echo 0 > /proc/sys/user/max_user_namespaces; "$@"',
        "sh",
    ]
    for words in ([], ["--", "python", "model.py"]):
        done = _verify(project, home, *words, words=deny)
        assert done.returncode == 2, done.stderr
        assert (
            "error: this system allows no sandbox, so nothing was run: unshare: No space left on device" in done.stderr
        )
        assert "`--no-sandbox` runs the project with all your rights" in done.stderr
        assert not mark.exists()
