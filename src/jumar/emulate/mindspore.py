"""`jumar run` for MindSpore programs: which interpreter has it, and the variables of the emulated or CPU-only machine.

MindSpore needs no glue: its own Ascend plug-in meets the stand-ins on the loader path. It looks for CANN where the file
of `aclrtMalloc` lies, in front of the last `latest` or `cann` of that path (mindspore 2.10.0), so the stand-ins must be
found through the virtual prefix.
"""

from __future__ import annotations

import json
import platform
import re
import shutil
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from jumar.core.compat import alone
from jumar.core.errors import UserError
from jumar.emulate import env, prefix
from jumar.runtime import process, variables
from jumar.runtime.hooks import SITE
from jumar.tables import mindspore_versions, tested

_RUNTIME = "MS_DEV_RUNTIME_CONF"
_FIRST = (2, 3)
"""The plug-in of 2.0.0 links 20 libraries of CANN and 218 functions of its graph engine, and compiles whole graphs with
it; kernels one by one (`jit_level` O0) came with 2.3."""
_ASK = (
    "import importlib.metadata as m, json, sys\n"
    "def v(n):\n"
    "    try: return m.version(n)\n"
    "    except m.PackageNotFoundError: return ''\n"
    "print(json.dumps([v('mindspore'), v('numpy')]))"
)


class Installed(NamedTuple):
    """What an interpreter has; empty texts for what is missing."""

    mindspore: str
    numpy: str


def installed(python: str) -> Installed:
    """The versions that an interpreter would import."""
    if python == sys.executable:
        return Installed(_version("mindspore"), _version("numpy"))
    if shutil.which(python) is None:
        raise UserError(f"no such interpreter: `{python}`", "name one with mindspore, such as `env/bin/python`")
    done = process.run([python, *alone(_ASK)], timeout=60)
    if done.code != 0:
        raise UserError(f"`{python}` is not a working Python", "name one with mindspore, such as `env/bin/python`")
    return Installed(*json.loads(done.out))


def check(python: str) -> Installed:
    """The same; raises an error for an interpreter without MindSpore."""
    found = installed(python)
    if not found.mindspore:
        hint = f"`{tested.mindspore().install}`, or name another with `--python`"
        raise UserError(f"`mindspore` is not installed for `{python}`", hint)
    return found


def warning(found: Installed) -> str:
    """The known problem of these versions; empty if there is none."""
    if found.numpy and not found.numpy.startswith(("0.", "1.")):
        works = tested.mindspore().numpy
        return f"jumar: numpy {found.numpy} breaks MindSpore's PyNative mode: pip install 'numpy{works}'"
    return ""


def refuse_old(found: Installed) -> None:
    """Raise an error for a release whose plug-in needs the graph engine."""
    if tuple(int(part) for part in re.findall(r"\d+", found.mindspore)[:2]) < _FIRST:
        newest = tested.mindspore()
        raise UserError(
            f"mindspore {found.mindspore} is not emulated: its plug-in needs CANN's graph engine",
            f"`{newest.install}`, or run on the CPU with `--on cpu`",
        )


def cann_for(mindspore: str) -> str:
    """The CANN release for a MindSpore release, which warns about any other when it starts."""
    rows = mindspore_versions.releases()
    return next((row.cann for row in rows if row.mindspore == mindspore), tested.mindspore().cann)


def emulated(values: Mapping[str, str], environ: Mapping[str, str], python: str, version: str) -> dict[str, str]:
    """The variables for the emulated Ascend machine that `values` describe (`env.environment`)."""
    wanted = {**values, variables.CANN.name: variables.CANN.read(environ) or cann_for(version)}
    found = prefix.environment(prefix.default_place(wanted), wanted, environ)
    home = found["ASCEND_HOME_PATH"]
    own = str(env.library_dir())
    libraries = [path for path in values["LD_LIBRARY_PATH"].split(":") if path not in (own, f"{home}/lib64")]
    # With branches inlined, 2.10.0 cannot build the graph of TrainOneStepWithLossScaleCell here.
    runtime = {} if environ.keys() & {_RUNTIME, "MS_SIMULATION_LEVEL"} else {_RUNTIME: "switch_inline:False"}
    return {
        **found,
        **runtime,
        "PATH": _first(str(Path(shutil.which(python) or python).parent), found["PATH"]),
        "LD_LIBRARY_PATH": ":".join([f"{home}/lib64", *libraries]),
        variables.MINDSPORE_TARGET.name: "Ascend",
        variables.MINDSPORE_KERNELS.name: str(Path(__file__).with_name("mindspore_ops")),
        "PYTHONPATH": _join([SITE, f"{home}/{prefix.PYTHON}"], environ.get("PYTHONPATH", "")),
    }


def on_cpu(environ: Mapping[str, str], python: str) -> dict[str, str]:
    """The variables that let the same program run on MindSpore's CPU target."""
    found = {
        variables.EMULATE.name: "0",
        variables.MINDSPORE_TARGET.name: "CPU",
        "PATH": _first(str(Path(shutil.which(python) or python).parent), environ.get("PATH", "")),
        "PYTHONPATH": _join([SITE], environ.get("PYTHONPATH", "")),
    }
    # oneDNN's reference code instead of its fast convolution, 120 times slower, on CPUs with AVX-512 (2.10.0).
    if "DNNL_MAX_CPU_ISA" not in environ and platform.machine() == "x86_64":
        found["DNNL_MAX_CPU_ISA"] = "AVX2"
    return found


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _first(folder: str, path: str) -> str:
    return _join([folder], ":".join(item for item in path.split(":") if item != folder))


def _join(folders: list[str], rest: str) -> str:
    return ":".join([*folders, *([rest] if rest else [])])
