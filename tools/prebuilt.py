"""Builds the glue and the recorder for every tested pair, so that users of a wheel need no compiler.

Usage: python tools/prebuilt.py MACHINE OUT [TORCH]... [--work DIR] [--jobs N]

MACHINE is x86_64 or aarch64. Of torch and torch_npu only the headers and libc10.so are fetched. What was built before
from the same sources by the same compiler stays as it is.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
from concurrent import futures
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))  # runs without an installation

import wheel_files  # noqa: E402
from jumar.runtime import prebuilt  # noqa: E402
from jumar.tables import tested, versions  # noqa: E402

CHILD = ROOT / "tools" / "prebuilt_pair.py"
MACHINES = ("x86_64", "aarch64")
_STUBS = {"torch": "libtorch_cpu.so", "torch_npu": "libtorch_npu.so"}
"""Too large to fetch: a library is linked against an empty one of the name."""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("machine", choices=MACHINES)
    parser.add_argument("out", type=Path, help="folder for the libraries and their index")
    parser.add_argument("torch", nargs="*", help="only these releases of torch")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "prebuilt")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    pairs = [
        row for row in tested.pairs() if row.state != "fails" and (not options.torch or row.torch in options.torch)
    ]
    with futures.ThreadPoolExecutor(options.jobs) as pool:
        found = list(pool.map(lambda pair: one(pair, options.machine, options.work), pairs))
    collect([place for places in found for place in places], options.out)
    return 0


def one(pair: tested.Pair, machine: str, work: Path) -> list[Path]:
    """The folders with the libraries of a pair."""
    site = fetch(pair, machine, work)
    print(f"building for torch {pair.torch}, {machine}", flush=True)
    env = {**os.environ, "PYTHONPATH": f"{site}:{ROOT / 'src'}", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, str(CHILD), compiler_for(machine), machine, str(work / "libraries")]
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True)
    return [Path(line) for line in done.stdout.splitlines()]


def fetch(pair: tested.Pair, machine: str, work: Path) -> Path:
    """A folder with what a compiler needs of both packages."""
    site = work / "sites" / f"torch-{pair.torch}-npu-{pair.torch_npu}-{machine}"
    if (site / "done").exists():
        return site
    shutil.rmtree(site, ignore_errors=True)
    print(f"fetching headers of torch {pair.torch}, {machine}", flush=True)
    for name, version in (("torch", pair.torch), ("torch_npu", pair.torch_npu)):
        address = wheel_files.locate(f"{name}=={version}", machine, _python(pair, machine))
        wheel_files.extract(address, site, _is_needed)
        (site / name / "lib").mkdir(parents=True, exist_ok=True)
        (site / name / "__init__.py").write_text("", encoding="ascii")
        _stub(compiler_for(machine), site / name / "lib" / _STUBS[name])
    (site / "done").touch()
    return site


def _is_needed(name: str) -> bool:
    parts = name.split("/")
    return parts[1:2] == ["include"] or name == "torch/lib/libc10.so" or name.endswith(".dist-info/METADATA")


def _python(pair: tested.Pair, machine: str) -> str:
    """One that both have a wheel for."""
    rows = [row for row in versions.releases() if (row.torch, row.torch_npu) == (pair.torch, pair.torch_npu)]
    usable = [name for row in rows for name in row.pythons(machine)]
    return "3.11" if "3.11" in usable else usable[-1]


def _stub(compiler: str, library: Path) -> None:
    command = [compiler, "-shared", f"-Wl,-soname,{library.name}", "-x", "c", "/dev/null", "-o", str(library)]
    subprocess.run(command, check=True)


def compiler_for(machine: str) -> str:
    """The compiler of this machine, or Debian's cross-compiler."""
    name = "g++" if machine == platform.machine() else f"{machine}-linux-gnu-g++"
    found = shutil.which(name)
    if found is None:
        package = "g++" if name == "g++" else f"g++-{machine.replace('_', '-')}-linux-gnu"
        raise SystemExit(f"error: `{name}` was not found\n\nhint: sudo apt install {package}")
    return found


def collect(places: list[Path], out: Path) -> None:
    """One folder of all libraries, with one index."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    rows = []
    for place in places:
        if row := json.loads((place / prebuilt.INDEX).read_text(encoding="utf-8")):  # empty if it does not build
            shutil.copyfile(place / row["file"], out / row["file"])
            rows.append(row)
    (out / prebuilt.INDEX).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
