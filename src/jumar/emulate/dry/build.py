"""What the dry run's own kernels are built of; built when a dry run first needs them."""

from __future__ import annotations

import functools
from importlib import metadata
from pathlib import Path

from jumar.core.errors import UserError
from jumar.emulate.glue import build as glue
from jumar.runtime import compiled
from jumar.runtime.compiled import package
from jumar.tables import tested

_HERE = Path(__file__).parent
LIBRARY = "libjumar_dry.so"
OLDEST = (2, 13)
"""The torch_npu that it needs at least: the first whose allocator tells of its blocks."""


@functools.cache
def library() -> Path:
    """The library for this torch and torch_npu."""
    installed = metadata.version("torch_npu")
    if not fits(installed):
        oldest = ".".join(map(str, OLDEST))
        raise UserError(f"a dry run needs torch_npu {oldest} or later, found {installed}", hint=tested.pair_hint())
    return compiled.library(spec())


def fits(torch_npu: str) -> bool:
    """Whether a release of torch_npu has what it is built on."""
    return tuple(int(part) for part in torch_npu.split(".")[:2]) >= OLDEST


def spec() -> compiled.Build:
    files = sorted([*_HERE.glob("*.cpp"), *_HERE.glob("*.h")])
    sources = tuple(file.name.encode() + b"\0" + file.read_bytes() for file in files)
    version = f"torch-{metadata.version('torch')}-npu-{metadata.version('torch_npu')}"
    return compiled.Build(
        "the dry run", "dry", LIBRARY, version, sources, _command, includes=package("torch_npu") / "include"
    )


def _command(compiler: str, out: Path) -> list[str]:
    return glue.command(compiler, out, _HERE / "dry.cpp")
