"""An Arm machine in a folder: Debian's arm64 packages run by qemu, and environments whose Python starts like any other.

Nothing is installed on this machine and no program of it learns about Arm: `bin/python` of an environment is a script
that calls qemu, and Python takes it for its own name, so that its children start the same way.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

QEMU, COMPILER = "qemu-aarch64-static", "aarch64-linux-gnu-g++"
NEEDS = {QEMU: "qemu-user-static", COMPILER: "g++-aarch64-linux-gnu", "apt-get": "apt", "dpkg": "dpkg"}
"""Programs with the Debian packages that have them."""
PYTHON = "3.11"
PACKAGES = (f"python{PYTHON}", "coreutils", "libgomp1", "libstdc++6")
CPU = "neoverse-n1"
"""The nearest that qemu knows to a Kunpeng 920: Armv8.2 without SVE."""
_PROGRAMS = {"python": f"python{PYTHON}", "python3": f"python{PYTHON}", "uname": "uname"}
_PLATFORMS = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_17", "manylinux2014", "linux")


def missing() -> list[str]:
    """The Debian packages whose programs this machine lacks."""
    return [package for program, package in NEEDS.items() if shutil.which(program) is None]


def root(folder: Path) -> Path:
    """The files of the Arm machine; made once."""
    place, done = folder / "root", folder / "root" / "done"
    wanted = "\n".join(PACKAGES)
    if not done.exists() or done.read_text(encoding="utf-8") != wanted:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        for file in _download(folder / "packages"):
            _run("dpkg", "-x", str(file), str(place))
        _run(sys.executable, "-m", "compileall", "-q", str(place / "usr" / "lib" / f"python{PYTHON}"), check=False)
        done.write_text(wanted, encoding="utf-8")
    return place


def _download(folder: Path) -> list[Path]:
    """The packages and all that they need, from the sources of this machine, whose own state stays as it is."""
    lists, status = folder / "lists", folder / "status"
    (lists / "partial").mkdir(parents=True, exist_ok=True)
    (folder / "cache" / "archives" / "partial").mkdir(parents=True, exist_ok=True)
    status.touch()
    words = {
        "APT::Architecture": "arm64", "APT::Architectures": "arm64", "APT::Sandbox::User": "", "Debug::NoLocking": "1",
        "Dir::State::lists": lists, "Dir::State::status": status, "Dir::Cache": folder / "cache",
    }  # fmt: skip
    apt = ["apt-get", "--quiet=2", *(f"--option={name}={value}" for name, value in words.items())]
    _run(*apt, "update", check=False)  # a source without Arm packages is no reason to stop
    _run(*apt, "install", "--yes", "--download-only", "--no-install-recommends", *PACKAGES)
    return sorted((folder / "cache" / "archives").glob("*.deb"))


def command(root: Path, program: str | Path, *words: str, page: int = 0) -> list[str]:
    """The words that run an Arm program, with `page` bytes to a page if that is not 0."""
    pages = ["-p", str(page)] if page else []
    return [shutil.which(QEMU) or QEMU, "-cpu", CPU, *pages, "-L", str(root), str(program), *words]


def environment(folder: Path, name: str, root: Path, packages: tuple[str, ...], alone: tuple[str, ...] = ()) -> Path:
    """The Python of an environment with these packages, `alone` without what they need; kept once it is whole."""
    place = folder / name
    wanted, done = "\n".join((*packages, *alone)), place / "done"
    if not done.exists() or done.read_text(encoding="utf-8") != wanted:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        install(place, *packages)
        if alone:
            install(place, "--no-deps", *alone)
        done.write_text(wanted, encoding="utf-8")
    _write_programs(place, root)  # each time: the folder may have been moved
    return place / "bin" / "python"


def _write_programs(place: Path, root: Path) -> None:
    (place / "bin").mkdir(exist_ok=True)
    _write(place / "pyvenv.cfg", f"home = {root / 'usr' / 'bin'}\n", 0o644)
    for name, program in _PROGRAMS.items():
        # The name that Python is started by is what it takes for `sys.executable`.
        found = next(path for path in (root / "usr" / "bin" / program, root / "bin" / program) if path.exists())
        words = command(root, found)
        text = " ".join(f"'{word}'" for word in (*words[:-1], "-0"))
        _write(place / "bin" / name, f'#!/bin/sh\nexec {text} "$0" \'{words[-1]}\' "$@"\n', 0o755)


def _write(file: Path, text: str, mode: int) -> None:
    """A new file: the old one may be shared with a copy of the folder."""
    file.unlink(missing_ok=True)
    file.write_text(text, encoding="utf-8")
    file.chmod(mode)


def install(place: Path, *words: str) -> None:
    """Put wheels for Arm into an environment, with the pip of this machine."""
    target = place / "lib" / f"python{PYTHON}" / "site-packages"
    _run(
        *(sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--upgrade"),
        *(f"--platform={name}_aarch64" for name in _PLATFORMS),
        *(f"--python-version={PYTHON}", "--only-binary=:all:", f"--target={target}", *words),
    )


def variables(folder: Path, python: Path) -> dict[str, str]:
    """What programs of an environment are started with: the glue is compiled by the cross compiler, which is fast."""
    return {
        "CXX": COMPILER,
        "JUMAR_CACHE": str(folder / "cache"),
        "PATH": f"{python.parent}:{os.environ.get('PATH', os.defpath)}",
    }


def _run(*words: str, check: bool = True) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if check and done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or [f"ended with code {done.returncode}"]
        raise RuntimeError(f"`{Path(words[0]).name}`: {said[-1]}")
