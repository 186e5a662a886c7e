"""Builds the glue, the recorder and the dry run's kernels for the torch and torch_npu in the path of modules.

Usage: python tools/prebuilt_pair.py COMPILER MACHINE WORK

Called by tools/prebuilt.py. Prints the folder of each library under WORK. One that is there already, of the same
sources and by the same command, stays as it is. The torch and torch_npu need no more than their headers and libc10.so:
they are never imported.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from jumar.compare.fast import build as recorder
from jumar.emulate.dry import build as dry
from jumar.emulate.glue import build as glue
from jumar.runtime import compiled, prebuilt

ROOT = Path(__file__).parents[1]
FLOOR = ROOT / "native" / "floor"
_WORDS = ("-Wl,--no-as-needed,--build-id=none", "-s", "-Wl,--gc-sections")
_OF_FLOOR = ("-std=c++20", "-O2", "-fPIC", "-c")
_ASKED = re.compile(rb'^#include "(torch_npu/[^"]+)"', re.M)
_NEWER = "floating_to_chars.o"
"""Of libstdc++ since GCC 11: systems with glibc 2.28 do not have it."""


def main() -> int:
    compiler, machine, work = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    for spec in specs():
        row = _row(spec, machine)
        place = work / f"{Path(row.file).stem}-{machine}-{_digest(spec, compiler)}"
        if not (place / prebuilt.INDEX).exists():
            place.mkdir(parents=True, exist_ok=True)
            build(spec, compiler, place / row.file)
        _write(place / prebuilt.INDEX, json.dumps(row._asdict() if (place / row.file).exists() else None))
        print(place, flush=True)
    return 0


def specs() -> list[compiled.Build]:
    """What the wheel brings along for this pair."""
    return [glue.spec(), recorder.spec(), *([dry.spec()] if dry.fits(metadata.version("torch_npu")) else [])]


def _write(file: Path, text: str) -> None:
    """A new file, unless it is there: the folder may be shared."""
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        file.unlink(missing_ok=True)
        file.write_text(text, encoding="utf-8")


def _row(spec: compiled.Build, machine: str) -> prebuilt.Row:
    torch, npu = (metadata.version(name).split("+")[0] for name in ("torch", "torch_npu"))
    file = f"{Path(spec.library).stem}-torch{torch}{f'-npu{npu}' if spec.includes else ''}.so"
    abi, sources = compiled.string_abi(), prebuilt.digest(spec.sources)
    row = prebuilt.Row(file, spec.library, machine, torch, abi, sources)
    if spec.includes is None:
        return row
    names = tuple(sorted(_names(spec.sources)))
    return row._replace(torch_npu=npu, headers=names, headers_digest=prebuilt.digest_of(spec.includes, names))


def _names(sources: Iterable[bytes]) -> set[str]:
    """The headers of torch_npu that ours ask for by name: all that they use is declared there."""
    return {name.decode() for source in sources for name in _ASKED.findall(source)}


def _digest(spec: compiled.Build, compiler: str) -> str:
    """Of everything that makes another library when it changes."""
    said = subprocess.run([compiler, "--version"], capture_output=True, check=True).stdout
    floor = [path.read_bytes() for path in sorted(FLOOR.iterdir())]
    scratch = Path("/scratch")
    words = " ".join([*_command(spec, "compiler", scratch), *_OF_FLOOR])
    for place in sorted(_places(scratch), key=lambda place: -len(str(place))):  # folders in others first
        words = words.replace(str(place), ".")
    return prebuilt.digest([said, words.encode(), *floor, *spec.sources])


def build(spec: compiled.Build, compiler: str, target: Path) -> None:
    """Write the library, unless it does not build and the emulator runs without it."""
    with tempfile.TemporaryDirectory(dir=target.parent) as text:
        scratch = Path(text)
        spec.prepare(scratch)
        command = [*_command(spec, compiler, scratch), *_objects(compiler, scratch)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode and spec.library == glue.LIBRARY:
            raise SystemExit(done.stderr)
        if done.returncode:
            sys.stderr.write(f"left out: {target.name}: {_first_error(done.stderr)}\n")
            return
        (scratch / spec.library).replace(target)


def _command(spec: compiled.Build, compiler: str, scratch: Path) -> list[str]:
    first, *words = spec.command(compiler, scratch / spec.library)
    return [first, *_WORDS, *_maps(scratch), "-include", str(FLOOR / "floor.h"), *words]


def _first_error(said: str) -> str:
    return next((line for line in said.splitlines() if "error" in line), "the compiler failed")


def _maps(scratch: Path) -> list[str]:
    """No path of the building machine in the file."""
    return [f"-ffile-prefix-map={place}=." for place in sorted(_places(scratch))]


def _places(scratch: Path) -> set[Path]:
    return {scratch, ROOT, compiled.package("torch").parent, compiled.package("torch_npu").parent}


def _objects(compiler: str, scratch: Path) -> list[str]:
    """What older systems do not have."""
    for name in ("floor", "strings"):
        words = [compiled.string_abi(), *_OF_FLOOR, str(FLOOR / f"{name}.cpp")]
        subprocess.run([compiler, *words, "-o", str(scratch / f"{name}.o")], check=True)
    command = [compiler, "-print-file-name=libstdc++.a"]
    archive = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    subprocess.run(["ar", "x", archive, _NEWER], cwd=scratch, check=True)
    # Taken only where they are called.
    subprocess.run(["ar", "rcsD", "newer.a", _NEWER, "strings.o"], cwd=scratch, check=True)
    return [str(scratch / "floor.o"), str(scratch / "newer.a")]


if __name__ == "__main__":
    sys.exit(main())
