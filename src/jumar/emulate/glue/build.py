"""What the glue is built of: its sources, and the compiler's words for the installed torch and torch_npu."""

from __future__ import annotations

import functools
from importlib import metadata
from pathlib import Path

from jumar.emulate.glue import generate
from jumar.runtime import compiled
from jumar.runtime.compiled import package

_HERE = Path(__file__).parent
LIBRARY = "libjumar_glue.so"


@functools.cache
def library() -> Path:
    """The glue for this torch and torch_npu; builds it if neither the wheel nor the cache has it."""
    return compiled.library(spec())


def spec() -> compiled.Build:
    folders = (_HERE, _HERE.parent / "numerics")
    files = sorted(file for folder in folders for kind in ("*.cpp", "*.h") for file in folder.glob(kind))
    sources = (*(file.name.encode() + b"\0" + file.read_bytes() for file in files), *generate.sources())
    version = f"torch-{metadata.version('torch')}-npu-{metadata.version('torch_npu')}"
    return compiled.Build(
        "the emulator", "glue", LIBRARY, version, sources, _command, _write_header, package("torch_npu") / "include"
    )


def _write_header(scratch: Path) -> None:
    (scratch / generate.HEADER).write_text(generate.header(), encoding="utf-8")


def _command(compiler: str, out: Path) -> list[str]:
    return command(compiler, out, _HERE / "glue.cpp")


def command(compiler: str, out: Path, source: Path) -> list[str]:
    """Compiles one source against the headers of the installed torch and torch_npu."""
    torch, npu = package("torch"), package("torch_npu")
    includes = [
        torch / "include",
        torch / "include" / "torch" / "csrc" / "api" / "include",
        npu / "include",
        npu / "include" / "third_party" / "acl" / "inc",
    ]
    return [
        compiler,
        compiled.string_abi(),
        *("-std=c++20", "-O2", "-g0", "-w", "-fPIC", "-shared", "-fvisibility=hidden"),
        *(f"-I{path}" for path in (out.parent, *includes)),
        str(source),
        *("-o", str(out)),
        *(f"-L{torch / 'lib'}", "-ltorch_cpu", "-lc10", f"-L{npu / 'lib'}", "-ltorch_npu"),
        # torch_npu's own needs are met by the stand-ins, which are loaded already.
        "-Wl,--allow-shlib-undefined",
    ]
