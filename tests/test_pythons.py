"""Every Python that Jumar supports and this machine has runs the commands as the tests' own Python does."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import other_pythons
from jumar.tables import tested
from program_files import program_file

ROOT = Path(__file__).parents[1]
OWN = "{}.{}".format(*sys.version_info)
LOG = "RuntimeError: [ERROR] HCCL error in: ProcessGroupHCCL.cpp:88\nEI0006: Getting socket times out.\n"
EVENT = '{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 1.0, "dur": 5.0}'
COMMANDS = {
    "migrate": "migrate shapes --out moved --html page.html --sarif list.sarif --csv tables",
    "import": "migrate shapes --to import --write",
    "agnostic": "migrate shapes --to agnostic --diff --check",
    "multi-card": "migrate shapes --multi-card --out many",
    "analyze": "analyze shapes --json",
    "plan": "plan --chip 910B3 --os openEuler22.03 --arch aarch64 --python 3.9 --framework torch==2.1.0",
    "explain": "explain log.txt --json",
    "parallel": "parallel llama-7b --cards 8",
    "code": "parallel llama-7b --cards 8 --code torch",
    "adapt": "cloud adapt shapes/train.py --out adapted",
    "report": "report runs -o site",
    "perf": "perf read trace.json --json",
    "rules": "migrate --list",
    "doctor": "doctor --json",
    "help": "--help",
    "bad": "migrate nowhere",
    "wrong": "plan --chip 123",
}
MAY_DIFFER = {"doctor": "it looks at the Python it runs on"}


class Done(NamedTuple):
    code: int
    out: str
    err: str
    files: dict[str, bytes]


def _run(python: str, top: Path, command: str) -> Done:
    top.mkdir()
    shutil.copytree(ROOT / "examples" / "shapes", top / "work" / "shapes")
    shutil.copytree(ROOT / "tests" / "report" / "runs", top / "work" / "runs")
    (top / "work" / "log.txt").write_text(LOG)
    (top / "work" / "trace.json").write_text(f'{{"traceEvents": [{EVENT}]}}')
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(top), "PYTHONPATH": str(other_pythons.place(top / "path")),
        "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "error", "COLUMNS": "120", "LC_ALL": "C.UTF-8",
        "SOURCE_DATE_EPOCH": "0",
    }  # fmt: skip
    call = [python, "-m", "jumar", *command.split()]
    done = subprocess.run(call, cwd=top / "work", env=environment, capture_output=True, text=True, timeout=300)
    work = top / "work"
    files = {str(path.relative_to(work)): path.read_bytes() for path in sorted(work.rglob("*")) if path.is_file()}
    return Done(done.returncode, _told(done.stdout, top), _told(done.stderr, top), files)


def _told(text: str, top: Path) -> str:
    """Without the folder and the seconds, which are never the same."""
    return re.sub(r"\d+\.\d s\b|\"seconds\": [\d.]+", "0.0 s", text.replace(str(top), ""))


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Done]:
    """What the tests' own Python says, by command."""
    top = tmp_path_factory.mktemp("own")
    return {name: _run(sys.executable, top / name, command) for name, command in COMMANDS.items()}


@pytest.mark.parametrize(
    "version",
    [
        pytest.param(
            version, marks=() if version in (tested.supported()[0], tested.supported()[-1]) else pytest.mark.slow
        )
        for version in tested.supported()
        if version != OWN
    ],
)
def test_the_commands_do_the_same(version: str, own: dict[str, Done], tmp_path: Path) -> None:
    python, reason = other_pythons.environment(version)
    if not python:
        pytest.skip(reason)
    for name, command in COMMANDS.items():
        done = _run(python, tmp_path / name, command)
        assert "Traceback" not in done.err, (command, done.err)
        assert done.files == own[name].files, command
        if name not in MAY_DIFFER:
            assert done[:3] == own[name][:3], command


@pytest.mark.parametrize("version", [version for version in tested.supported() if version != OWN])
def test_every_module_is_imported(version: str, tmp_path: Path) -> None:
    python, reason = other_pythons.environment(version)
    if not python:
        pytest.skip(reason)
    call = [python, str(program_file(__file__, "import_all"))]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(other_pythons.place(tmp_path / "path"))}
    done = subprocess.run(call, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["failed"] == {}
    assert answer["imported"] > 500
