"""Finds out once whether bfloat16 through oneDNN works on this processor.

Some virtual machines announce instructions they do not have; a bfloat16 matrix product then dies with an
illegal instruction. oneDNN reads ONEDNN_MAX_CPU_ISA at its first use, which is after this.
"""

from __future__ import annotations

import hashlib
import os
import platform
import signal
import sys
from importlib import metadata
from pathlib import Path

from jumar.core.compat import alone
from jumar.runtime import process, variables
from jumar.runtime.compiled import cache_dir

_VARIABLE = "ONEDNN_MAX_CPU_ISA"
_LEVELS = {"x86_64": ("", "AVX512_CORE_BF16", "AVX512_CORE", "AVX2"), "aarch64": ("", "ADVANCED_SIMD")}
"""By processor, best first; "" is what oneDNN picks itself."""
_FACTS = ("model name", "flags", "microcode", "CPU implementer", "CPU variant", "CPU part", "Features")
"""The lines of /proc/cpuinfo, on x86 and on Arm, that tell processors apart."""
_PLAIN = {
    "TORCH_DEVICE_BACKEND_AUTOLOAD": "0", variables.EMULATE.name: "0", variables.CUDA.name: "",
    variables.PROFILE.name: "", variables.RECORD.name: "",
}  # fmt: skip
"""Of a program that needs torch alone."""
_PROGRAM = """
import torch
for size in (8, 64, 300):
    a = torch.ones(size, size, dtype=torch.bfloat16)
    torch.nn.functional.linear(a, a, a[0])
    torch.nn.functional.conv2d(a.view(1, 1, size, size), a[:3, :3].view(1, 1, 3, 3))
"""


def settings() -> dict[str, str]:
    """The variable to set, or nothing if the processor keeps its promise or the user has set it."""
    if _VARIABLE in os.environ:
        return {}
    record = cache_dir() / f"onednn-{_machine()}"
    try:
        level = record.read_text(encoding="ascii")
        if level not in ("", *_LEVELS.get(platform.machine(), ())):
            raise ValueError(level)
    except (OSError, ValueError):
        level = _find_level()
        _keep(record, level)
    return {_VARIABLE: level} if level else {}


def _find_level() -> str:
    levels = _LEVELS.get(platform.machine(), ("",))
    return next((level for level in levels if not _dies(level)), levels[-1])


def _dies(level: str) -> bool:
    variables = {**os.environ, **_PLAIN}
    if level:
        variables[_VARIABLE] = level
    return process.run([sys.executable, *alone(_PROGRAM)], env=variables).code == -signal.SIGILL


def _keep(record: Path, level: str) -> None:
    # Another process may write the same record: the file appears whole or not at all.
    try:
        record.parent.mkdir(parents=True, exist_ok=True)
        scratch = record.with_suffix(f".{os.getpid()}")
        scratch.write_text(level, encoding="ascii")
        os.replace(scratch, record)
    except OSError:
        return  # asked again next time


def _machine() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").split("\n\n", 1)[0]
    except OSError:
        text = ""
    lines = [line for line in text.splitlines() if line.startswith(_FACTS)]
    parts = [platform.machine(), *lines, metadata.version("torch")]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
