"""MindSpore jobs of the stand-in: interpreter, device, many processes; with the real wheel where there is one."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jumar.cloud.standin import interpreter
from program_files import program_text

Jumar = Callable[..., Any]
FAKE = {
    "__init__.py": "from mindspore.context import set_context\nfrom mindspore.device_manager import set_device\n",
    "context.py": """
said = {}
class _Context:
    setters = {}
    def set_device_target(self, target):
        said["device_target"] = target
_Context.setters["device_target"] = _Context.set_device_target
def set_context(**given):
    said.update(given)
    if "device_target" in given:
        _Context.setters["device_target"](_Context(), given["device_target"])
""",
    "device_manager.py": "said = []\ndef set_device(*given):\n    said.append(given)\n",
    "communication/__init__.py": "from mindspore.communication.management import init\n",
    "communication/management.py": "calls = []\ndef init(backend_name=None):\n    calls.append(backend_name)\n",
    "dataset/__init__.py": "from mindspore.dataset.engine.datasets import Dataset\n",
    "dataset/core/__init__.py": "",
    "dataset/core/validator_helpers.py": """
def check_num_parallel_workers(value):
    if not 1 <= value <= 2:
        raise ValueError(value)
""",
    "dataset/engine/__init__.py": "",
    "dataset/engine/datasets.py": """
from mindspore.dataset.core.validator_helpers import check_num_parallel_workers
class Dataset:
    def __init__(self, children=None, num_parallel_workers=None):
        if num_parallel_workers is not None:
            check_num_parallel_workers(num_parallel_workers)
        self.num_parallel_workers = num_parallel_workers
""",
}
USES = program_text(__file__, "shows_its_place")


@pytest.fixture
def fake(tmp_path: Path) -> Path:
    """A package that is called mindspore and only remembers what it was told."""
    for name, text in FAKE.items():
        path = tmp_path / "site" / "mindspore" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "site"


def _use(fake: Path, **variables: str) -> str:
    folders = interpreter.search_path(fake.parent / "path", fake)
    mapping = next(folder for folder in folders if (Path(folder) / "sitecustomize.py").is_file())
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": f"{mapping}:{fake}", **variables}
    done = subprocess.run([sys.executable, "-c", USES], env=environment, capture_output=True, text=True, check=False)
    return done.stdout.strip() or done.stderr


def test_a_script_for_ascend_gets_the_cpu_of_mindspore(fake: Path) -> None:
    said = _use(fake, JUMAR_MINDSPORE_TARGET="CPU", MS_ROLE="MS_WORKER")
    assert said == "CPU 3 [('CPU', None)] [None] True MS_WORKER"


def test_on_the_emulated_ascend_only_the_data_workers_are_changed(fake: Path) -> None:
    said = _use(fake, JUMAR_MINDSPORE_TARGET="Ascend", MS_ROLE="MS_WORKER")
    assert said == "Ascend 3 [('Ascend', 1)] ['hccl'] True MS_WORKER"


def test_without_the_variable_mindspore_is_left_alone(fake: Path) -> None:
    assert "ValueError: 64" in _use(fake)


def test_a_rank_joins_the_cluster_of_its_job(fake: Path) -> None:
    given = {"RANK_ID": "1", "RANK_SIZE": "2", interpreter.PORT: "4711"}
    assert _use(fake, JUMAR_MINDSPORE_TARGET="CPU", **given) == "CPU 3 [('CPU', None)] [None] True MS_WORKER"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    top = tmp_path / "project"
    for name in ("code", "data"):
        (top / name).mkdir(parents=True)
    (top / "data" / "a.txt").write_text("alpha")
    (top / "code" / "train.py").write_text("import mindspore\nprint('never started')\n")
    monkeypatch.chdir(top)
    return top


SUBMIT = ("cloud", "submit", "--code", "code", "--boot", "train.py", "--data", "data")


@pytest.mark.skipif(importlib.util.find_spec("mindspore") is not None, reason="MindSpore is installed beside Jumar")
def test_missing_mindspore_is_said_before_anything_is_sent(jumar: Jumar, project: Path) -> None:
    done = jumar(*SUBMIT)
    assert done.code == 2
    assert "MindSpore is not installed for" in done.err
    assert "--python ms/bin/python" in done.err
    assert not list(Path(os.environ["JUMAR_CLOUD_HOME"]).rglob("a.txt"))


def test_an_interpreter_that_is_none_is_refused(jumar: Jumar, project: Path) -> None:
    done = jumar(*SUBMIT, "--python", "data/a.txt")
    assert done.code == 2
    assert "not a Python interpreter" in done.err


def test_a_job_runs_with_the_interpreter_it_asks_for(
    jumar: Jumar, project: Path, trusted: Callable[[Path], None]
) -> None:
    """Named in jumar.toml, relative to that file; modules beside Jumar do not come before its own."""
    (project / "bin").mkdir()
    script = project / "bin" / "python"
    script.write_text(f'#!/bin/sh\nJOB_PYTHON=mine exec {sys.executable} "$@"\n')
    script.chmod(0o755)
    (project / "jumar.toml").write_text('[cloud]\npython = "bin/python"\n')
    trusted(project)
    (project / "code" / "train.py").write_text(
        "import os, jumar, moxing\nprint(os.environ['JOB_PYTHON'], moxing.__version__)\n"
    )
    done = jumar(*SUBMIT, "--follow")
    assert done.code == 0, done.out + done.err
    assert done.out == "mine 1.17.3-jumar\n"


def test_python_is_not_for_the_cloud(jumar: Jumar, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AK", "SK"):
        monkeypatch.setenv(f"HUAWEICLOUD_SDK_{name}", "x")
    (project / "jumar.toml").write_text('[cloud.targets.mine]\nregion = "cn-north-4"\nproject_id = "p"\n')
    done = jumar(*SUBMIT, "--target", "mine", "--python", "python3")
    assert done.code == 2
    assert "`--python` is for jobs on this machine" in done.err


def test_the_cpu_is_for_mindspore_on_this_machine(jumar: Jumar, project: Path) -> None:
    (project / "code" / "train.py").write_text("print('never started')\n")
    done = jumar(*SUBMIT, "--on", "cpu")
    assert done.code == 2
    assert "`--on cpu` is for MindSpore jobs" in done.err
    (project / "jumar.toml").write_text('[cloud]\non = "gpu"\n')
    assert "a job cannot run on `gpu`" in jumar("cloud", "plan", *SUBMIT[2:]).err
    assert not Path(os.environ["JUMAR_CLOUD_HOME"]).exists()


def test_requirements_are_installed_for_the_job_only(jumar: Jumar, project: Path) -> None:
    package = project / "extra"
    package.mkdir()
    (package / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "build"\nbackend-path = ["."]\n'
        '[project]\nname = "jumar-extra-of-a-test"\nversion = "1"\n'
    )
    (package / "build.py").write_text(BACKEND)
    (project / "code" / "pip-requirements.txt").write_text(f"jumar-extra-of-a-test @ file://{package}\n")
    (project / "code" / "train.py").write_text("import jumar_extra_of_a_test as extra\nprint(extra.NAME)\n")
    done = jumar(*SUBMIT, "--follow")
    assert done.code == 0, done.out + done.err
    assert done.out == "extra\n"
    assert "installed jumar-extra-of-a-test 1" in jumar("cloud", "logs", "--all").out
    assert importlib.util.find_spec("jumar_extra_of_a_test") is None


BACKEND = program_text(__file__, "build_backend")


def test_requirements_that_cannot_be_installed_fail_the_job(jumar: Jumar, project: Path) -> None:
    (project / "code" / "pip-requirements.txt").write_text("--no-index\njumar-no-such-package==9\n")
    (project / "code" / "train.py").write_text("print('started')\n")
    done = jumar(*SUBMIT, "--follow")
    assert done.code == 1
    assert "started" not in done.out
    assert "cannot install pip-requirements.txt: No matching distribution" in jumar("cloud", "logs", "--all").out


REAL_SCRIPT = program_text(__file__, "mindspore_training")


RUNS = {
    "one": ("1",),
    "two": ("2",),
    "msrun": ("2", "--env", "MA_RUN_METHOD=msrun"),
    "cpu": ("2", "--on", "cpu"),
}


@pytest.mark.slow
def test_two_devices_compute_what_one_computes(mindspore: str, jumar: Jumar, project: Path) -> None:
    import random

    random.seed(1)
    lines = [" ".join(str(random.gauss(0, 1)) for _ in range(4)) for _ in range(16)]
    (project / "data" / "x.txt").write_text("\n".join(lines))
    (project / "code" / "train.py").write_text(REAL_SCRIPT)
    found: dict[str, list[float]] = {}
    for name, words in RUNS.items():
        done = jumar(*SUBMIT, "--python", mindspore, "--follow", "--devices", *words)
        assert done.code == 0, done.out + done.err
        device = "CPU" if "cpu" in words else "Ascend"
        for rank in range(int(words[0])):
            assert f"trained on {device} {rank} of {words[0]}" in done.out
        assert ("emulating" in done.err) == (device == "Ascend")
        assert jumar("cloud", "pull", "-o", name).code == 0
        assert len(list(Path(name).glob("w-*.txt"))) == int(words[0])
        found[name] = [float(word) for word in Path(name, "w-0.txt").read_text().split()]
    for name, weights in found.items():
        assert weights == pytest.approx(found["one"], rel=1e-5), name


@pytest.mark.slow
def test_the_demo_goes_the_whole_way(mindspore: str, tmp_path: Path) -> None:
    top = Path(__file__).parents[2]
    command = [sys.executable, top / "tools" / "demo_cloud.py", mindspore, tmp_path / "demo"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("accuracy 0") == 3
