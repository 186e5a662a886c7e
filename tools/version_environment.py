"""An environment for one pair of torch and torch_npu: its own Python, no NVIDIA packages, Jumar from a wheel."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import cuda_standins
from jumar.tables import tested, versions

_PURE = (
    "filelock", "typing_extensions", "sympy", "networkx", "jinja2", "fsspec", "pyyaml", "decorator", "attrs", "psutil",
    "scipy", "hypothesis", "expecttest", "pytest", "requests", "click", "rich", "packaging", "tomli", "setuptools<80",
    "importlib_metadata; python_version < '3.10'",
)  # fmt: skip
"""What torch, torch_npu, its tests and Jumar import."""
_LEFT_OUT = ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH")
PATH = re.compile(r"/[^\s`']+")
LIMIT = 1500
"""Seconds for one program."""
_NUMPY_2 = (2, 3)
"""The first torch that takes numpy 2."""


def newest(python: str, machine: str) -> tuple[str, str] | None:
    """The default pair, or the newest tested one that has wheels for this Python."""
    released = {(row.torch, row.torch_npu): row for row in versions.releases()}
    for row in tested.pairs():
        release = released.get((row.torch, row.torch_npu))
        if row.state != "fails" and release and python in release.pythons(machine):
            return row.torch, row.torch_npu
    return None


def python_of(version: str) -> str | None:
    """An interpreter of this version (`3.10`): pyenv's, or one on the path."""
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    found = sorted(root.glob(f"versions/{version}.*/bin/python"))
    return str(found[-1]) if found else shutil.which(f"python{version}")


def version_of(python: Path) -> str:
    command = [str(python), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def make(folder: Path, python: str, torch: str, torch_npu: str, jumar: Path) -> Path:
    """The environment's interpreter. An environment that is whole already is taken as it is, with Jumar anew."""
    place = folder / f"torch-{torch}-npu-{torch_npu}"
    done, own = place / "done", place / "bin" / "python"
    if not done.exists():
        shutil.rmtree(place, ignore_errors=True)
        subprocess.run([python, "-m", "venv", "--without-pip", str(place)], check=True)
        install(own, "--no-deps", f"torch=={torch}", f"torch_npu=={torch_npu}")
        release = tuple(int(part) for part in torch.split(".")[:2])
        install(own, "numpy<2" if release < _NUMPY_2 else "numpy<2.3", *_PURE)
        cuda_standins.make(next(place.glob("lib/python*/site-packages/torch")))
        done.touch()
    install(own, "--no-deps", "--force-reinstall", str(jumar))
    return own


def variables(python: Path, path: str = os.defpath) -> dict[str, str]:
    """What programs of an environment are started with.

    Compiled modules are kept: without them, each start of torch costs ten times the work.
    """
    kept = {name: value for name, value in os.environ.items() if name not in _LEFT_OUT}
    return {**kept, "PATH": f"{python.parent}:{path}", "JUMAR_EMULATE": "1", "OMP_NUM_THREADS": "1"}


def run(command: list[str], folder: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """What a program said; one without an end has failed, and its children end with it."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, cwd=folder, env=env, stdout=pipe, stderr=pipe, text=True, start_new_session=True
    ) as started:
        try:
            said, told = started.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, signal.SIGKILL)
            said, told = started.communicate()
            return subprocess.CompletedProcess(command, 1, said, f"{told}\nError: no end after {LIMIT} s")
    return subprocess.CompletedProcess(command, started.returncode, said, told)


def recorder(record: Path) -> str:
    """Why another recorder than the one in C++ wrote a record, or that there is none."""
    makers = {json.loads(file.read_text(encoding="utf-8"))["recorder"] for file in record.rglob("meta.json")}
    return PATH.sub("…", "; ".join(sorted(makers - {"C++"})))[:200] if makers else "no record"


def wheel(folder: Path, root: Path) -> Path:
    """Jumar as it is in this tree."""
    shutil.rmtree(folder, ignore_errors=True)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(root)]
    subprocess.run(command, check=True)
    return next(folder.glob("jumar-*.whl"))


def install(python: Path, *words: str) -> None:
    """Install packages with our own pip: the environment has none."""
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    done = subprocess.run([*pip, "--no-cache-dir", "--no-compile", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
