"""What the recorder is built of: its sources, and the compiler's words for the installed torch."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

from jumar.runtime import compiled

_HERE = Path(__file__).parent
LIBRARY = "libjumar_recorder.so"


def spec() -> compiled.Build:
    files = sorted([*_HERE.glob("*.cpp"), *_HERE.glob("*.h")])
    sources = tuple(file.name.encode() + b"\0" + file.read_bytes() for file in files)
    version = f"torch-{metadata.version('torch')}"
    return compiled.Build("the recorder", "recorder", LIBRARY, version, sources, _command)


def _command(compiler: str, out: Path) -> list[str]:
    torch_at = compiled.package("torch")
    includes = (torch_at / "include", torch_at / "include" / "torch" / "csrc" / "api" / "include")
    return [
        compiler,
        compiled.string_abi(),
        *("-std=c++20", "-O2", "-g0", "-w", "-fPIC", "-shared", "-fvisibility=hidden"),
        *(f"-I{path}" for path in includes),
        str(_HERE / "recorder.cpp"),
        *("-o", str(out)),
        *(f"-L{torch_at / 'lib'}", "-ltorch_cpu", "-lc10"),
    ]
