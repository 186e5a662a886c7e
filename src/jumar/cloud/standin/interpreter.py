"""The interpreter of a job: what it must have, what a job adds to it, and how MindSpore runs there without a device.

A job may have another interpreter than Jumar: MindSpore and torch_npu want different versions of numpy.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from jumar.core.compat import alone
from jumar.core.errors import UserError
from jumar.runtime import process, variables
from jumar.runtime.hooks import SITE
from jumar.tables import tested

REQUIREMENTS = "pip-requirements.txt"
"""In the code folder; the platform installs it before it starts the script."""
TARGET, PORT = variables.MINDSPORE_TARGET.name, variables.MINDSPORE_PORT.name
MEET = variables.MINDSPORE_MEET.name
CPU, ASCEND = "CPU", "Ascend"
ON_CPU = {TARGET: CPU, "DNNL_MAX_CPU_ISA": "AVX2"}
"""Variables of a MindSpore job on MindSpore's CPU target. With AVX-512 oneDNN of MindSpore 2.10.0 falls back to its
reference convolution, which is a hundred times slower."""
_PIP = "import runpy; runpy.run_module('pip', run_name='__main__', alter_sys=True)"
SCHEDULER = "from mindspore.communication import init; init()"
_ASK = """
import importlib.metadata as data, importlib.util as util, json, sys
def version(name):
    try:
        return data.version(name)
    except data.PackageNotFoundError:
        return ""
print(json.dumps({"python": list(sys.version_info[:2]), "mindspore": bool(util.find_spec("mindspore")),
                  "numpy": version("numpy")}))
"""


def check(python: str, framework: str) -> None:
    """Refuse an interpreter that cannot run the job."""
    try:
        found: dict[str, Any] = json.loads(process.run([python, *alone(_ASK)], timeout=120).out)
    except (process.NotStarted, process.Late, ValueError):
        raise UserError(
            f"not a Python interpreter: `{python}`", "`--python` takes a path such as `ms/bin/python`"
        ) from None
    if framework != "mindspore":
        return
    install = f"python{tested.pythons()[0]} -m venv ms && ms/bin/{tested.mindspore().install}"
    how = f"{install}; then `--python ms/bin/python`"
    if not found["mindspore"]:
        raise UserError(f"MindSpore is not installed for `{python}`", how)
    if found["numpy"].split(".")[0] not in ("", "0", "1"):
        raise UserError(f"MindSpore does not support numpy {found['numpy']} of `{python}`", how)


def cluster(size: int, port: int) -> dict[str, str]:
    """Variables of the processes of a MindSpore job on emulated NPUs: they meet at MindSpore's own scheduler.

    With a rank table alone 2.10.0 compiles for its graph engine, which needs CANN's operator compiler.
    """
    return {
        "MS_ROLE": "MS_WORKER",
        "MS_WORKER_NUM": str(size),
        "MS_SCHED_HOST": "127.0.0.1",
        "MS_SCHED_PORT": str(port),
        "MS_TOPO_TIMEOUT": "600",
    }


def search_path(folder: Path, packages: Path) -> list[str]:
    """Folders for PYTHONPATH: MoXing, MindSpore's mapping, installed requirements, and Jumar alone.

    Jumar's own folder may hold other packages, which must not come before those of the job's interpreter.
    """
    folder.mkdir(exist_ok=True)
    link = folder / "jumar"
    if not link.is_symlink():
        link.symlink_to(Path(__file__).parents[2])
    here = Path(__file__).parent
    return [str(path) for path in (here / "mox", Path(SITE), packages, folder) if path.is_dir()]


def install(python: str, requirements: Path, packages: Path) -> list[str]:
    """Install what is missing into a folder of its own; the names and versions."""
    pip = [python, *alone(_PIP), "--disable-pip-version-check", "--no-input", "install", "--quiet"]
    plan = json.loads(_pip([*pip, "--dry-run", "--report", "-", "-r", str(requirements)]))
    rows = [(row["metadata"]["name"], row["metadata"]["version"], row) for row in plan["install"]]
    if rows:
        exact = [
            row["download_info"]["url"] if row["is_direct"] else f"{name}=={version}" for name, version, row in rows
        ]
        _pip([*pip, "--no-deps", "--target", str(packages), *exact])
    return [f"{name} {version}" for name, version, _ in rows]


def _pip(command: list[str]) -> str:
    done = process.run(command)
    if done.code:
        last = next((line for line in reversed(done.err.splitlines()) if "ERROR" in line), done.err.strip())
        raise UserError(f"cannot install {REQUIREMENTS}: {last.removeprefix('ERROR: ')}")
    return done.out


def absolute(python: str, base: Path) -> str:
    """A path as it is, not what it links to: the Python of a virtual environment is a link."""
    if not python or os.sep not in python:
        import shutil

        return shutil.which(python) or python if python else ""
    return os.path.abspath(base / Path(python).expanduser())
