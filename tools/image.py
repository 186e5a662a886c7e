"""Runs the steps of templates/Dockerfile without Docker: in a Debian root, with chroot; then the image's command.

Usage: sudo python tools/image.py [--wheels dist] [--bind DIR]... [--folder DIR] [--keep] [WORD]...

The root is Debian's smallest (`debootstrap`) with an interpreter of pyenv in /usr/local, as the image `python:slim` is.
WORDs replace the command of the image, which runs on the suite of docs/guides/ci.md. pip's own settings and the folders
after --bind are the same inside. Part of the release checklist.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import version_environment

ROOT = Path(__file__).parents[1]
RECIPE = ROOT / "templates" / "Dockerfile"
GUIDE = ROOT / "docs" / "guides" / "ci.md"
_BASE = (
    "ca-certificates,libbz2-1.0,libexpat1,libffi8,liblzma5,libreadline8,libsqlite3-0,libssl3,libuuid1,netbase,zlib1g"
)
"""What the image of Python has beside Debian's smallest."""
_SAME = ("etc/resolv.conf", "etc/pip.conf", "etc/ssl/certs/ca-certificates.crt", "etc/apt/sources.list.d")
"""Files that the inside reads as this machine does: how to reach package indexes."""
_DEBIAN = "bookworm"
_INSTRUCTION = re.compile(r"([A-Z]+) (.*)", re.S)


class Image(NamedTuple):
    """A root and what its processes are started with."""

    root: Path
    environ: dict[str, str]
    bound: tuple[str, ...]
    """Folders that are the same inside; the mounts are the command's own and end with it."""

    def run(self, *words: str, folder: str = "/") -> None:
        print("+", shlex.join(words), flush=True)
        mounts = [f"mount --rbind {shlex.quote(place)} {shlex.quote(f'{self.root}{place}')}" for place in self.bound]
        for place in self.bound:
            Path(f"{self.root}{place}").mkdir(parents=True, exist_ok=True)
        settings = [f"{name}={value}" for name, value in self.environ.items()]
        inside = ["chroot", str(self.root), "env", "-i", f"--chdir={folder}", *settings, *words]
        script = "\n".join(["set -e", *mounts, f"exec {shlex.join(inside)}"])
        subprocess.run(["unshare", "--mount", "sh", "-c", script], check=True)


def main() -> int:
    options = _options()
    steps = list(instructions(RECIPE.read_text(encoding="utf-8")))
    root = make_root(Path(options.folder).resolve(), dict(_pair(value) for word, value in steps if word == "ARG"))
    build(steps, root, options)
    if not options.keep:
        shutil.rmtree(root)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("words", nargs="*", metavar="WORD", help="run this instead of the image's command")
    parser.add_argument("--wheels", type=Path, default=ROOT / "dist", help="the wheels that `make wheels` made")
    parser.add_argument("--bind", action="append", default=[], help="a folder that is the same inside; repeatable")
    parser.add_argument("--folder", default=ROOT / "build" / "image", help="where roots are made")
    parser.add_argument("--keep", action="store_true", help="keep the root of the image")
    return parser.parse_args()


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """Each instruction of a Dockerfile with its words; comments and line ends inside of it are gone."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        if found := _INSTRUCTION.fullmatch(line):
            yield found[1], found[2].strip()


def make_root(folder: Path, arguments: dict[str, str]) -> Path:
    """Debian and Python; Debian is kept, and copied because the steps change it."""
    start = version_environment.python_of(arguments["PYTHON"])
    if start is None:
        raise SystemExit(f"error: no Python {arguments['PYTHON']} here\n\nhint: pyenv install {arguments['PYTHON']}")
    base, root = folder / "base", folder / "root"
    if not (base / "done").exists():
        shutil.rmtree(base, ignore_errors=True)
        subprocess.run(["debootstrap", "--variant=minbase", f"--include={_BASE}", _DEBIAN, str(base)], check=True)
        (base / "done").touch()
    shutil.rmtree(root, ignore_errors=True)
    subprocess.run(["cp", "-a", str(base), str(root)], check=True)
    shutil.copytree(Path(start).resolve().parents[1], root / "usr" / "local", True, _others, dirs_exist_ok=True)
    for name in _SAME:
        if (source := Path("/", name)).is_dir():
            shutil.copytree(source, root / name, dirs_exist_ok=True)
        elif source.exists():
            shutil.copyfile(source, root / name)
    return root


def _others(folder: str, names: list[str]) -> list[str]:
    """What the image's Python does not have: packages beside pip."""
    return [name for name in names if folder.endswith("site-packages") and not name.startswith("pip")]


def build(steps: list[tuple[str, str]], root: Path, options: argparse.Namespace) -> None:
    """Do what each instruction says, and then what the guide does with the image."""
    own = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    path = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
    image = Image(root, {"PATH": path, "HOME": "/root", **own}, ("/proc", "/dev", *map(os.path.abspath, options.bind)))
    folder, command = "/", list(options.words)
    arguments: dict[str, str] = {}
    for word, value in steps:
        if word == "ARG":
            arguments.update([_pair(value, image.environ)])
        elif word == "ENV":
            image.environ.update(_pair(item, image.environ) for item in shlex.split(value))
        elif word == "RUN":
            step = image._replace(environ={**image.environ, **arguments})
            step.run("/bin/sh", "-c", _mounts(value, root, options.wheels), folder=folder)
        elif word == "WORKDIR":
            folder = value
        elif word == "CMD":
            command = command or [item.strip(' "') for item in value.strip("[]").split(",")]
    suite = root / folder.lstrip("/")
    suite.mkdir(exist_ok=True)
    text = GUIDE.read_text(encoding="utf-8")
    (suite / "test_guide.py").write_text(re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)[0], encoding="utf-8")
    image.run(*command, folder=folder)


def _pair(item: str, environ: Mapping[str, str] = MappingProxyType({})) -> tuple[str, str]:
    name, _, value = item.partition("=")
    return name, re.sub(r"\$(\w+)", lambda found: environ.get(found[1], ""), value)


def _mounts(value: str, root: Path, wheels: Path) -> str:
    """The command without its mounts; the wheels are where they would be."""
    for target in re.findall(r"--mount=type=bind,from=wheels,target=(\S+)", value):
        shutil.copytree(wheels, root / target.lstrip("/"), dirs_exist_ok=True)
    return re.sub(r"--mount=\S+\s*", "", value)


if __name__ == "__main__":
    sys.exit(main())
