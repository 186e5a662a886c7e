"""Commands of NVIDIA's driver and toolkit in strings: `nvidia-smi`, `nvcc`, `nsys`, `ncu`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.around import Place
from jumar.migrate.passes.torch import shapes
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="PT178",
    name="nvidia-smi",
    summary="a command of NVIDIA's driver or toolkit",
    keywords=("nvidia-smi", "nvcc", "nsys", "nvprof", "cuda-memcheck", "compute-sanitizer", "nvidia_smi"),
)
_COMMANDS = {
    "nvidia-smi": "`npu-smi info` shows cards, memory and processes; its output has another form",
    "nvcc": "there is no nvcc; kernels are written in Ascend C and built with the CANN toolkit",
    "nsys": "`msprof` of CANN records the machine, `torch_npu.profiler` the program",
    "nvprof": "`msprof` of CANN records the machine, `torch_npu.profiler` the program",
    "cuda-memcheck": "`msSanitizer` of CANN does this work",
    "compute-sanitizer": "`msSanitizer` of CANN does this work",
}
_WORD = re.compile(r"(?<![\w./-])(?:[\w./]*/)?(" + "|".join(_COMMANDS) + r")(?![\w-])")


def visit_Constant(node: ast.Constant, file: PyFile) -> Iterator[Finding]:
    if isinstance(node.value, str) and node not in file.docstrings:
        yield from _command(node, node.value, file)


def visit_JoinedStr(node: ast.JoinedStr, file: PyFile) -> Iterator[Finding]:
    for part in node.values:
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield from _command(node, part.value, file)


def _command(node: ast.Constant | ast.JoinedStr, text: str, file: PyFile) -> Iterator[Finding]:
    match = _WORD.search(text) if "n" in text else None
    if match is None:
        return
    command = match.group(1)
    if shapes.is_text(node, file):
        yield file.report(RULE, node, State.BENIGN, f"a text that mentions `{command}`", subject=command)
        return
    message = f"`{command}` does not exist on an NPU machine"
    yield file.report(RULE, node, State.HAND, message, _COMMANDS[command], subject=command)


def noise(finding: Finding, place: Place) -> str:
    """`extra_compile_args={"nvcc": …}`"""
    string, outer = place.string[:2]
    is_key = string in outer.keys if isinstance(outer, ast.Dict) else isinstance(outer, ast.Subscript)
    return "an option of an extension; what it builds is what counts" if is_key else ""
