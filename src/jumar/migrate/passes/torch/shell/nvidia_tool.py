"""A program of the CUDA toolkit or the NVIDIA driver called in shell text: `nvidia-smi`, `nvcc`, `nsys`."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate.document import ONLY_NPU
from jumar.migrate.rule import Rule
from jumar.migrate.syntax.shell import Command, base_command
from jumar.migrate.textfile import TextFile
from jumar.tables.packages import tools

RULE = Rule(
    id="SH102",
    name="nvidia-tool",
    summary="a program of the CUDA toolkit or the NVIDIA driver",
    keywords=(
        "nvidia",
        "nvcc",
        "nsys",
        "ncu",
        "nvprof",
        "nvitop",
        "gpustat",
        "dcgmi",
        "cuda-",
        "sanitizer",
        "nv-nsight",
    ),
)
_PROBES = frozenset({"which", "command", "type", "hash", "whereis", "test", "[", "[["})
_WRAPPERS = frozenset({"watch", "xargs"})


def visit_command(command: Command, file: TextFile) -> Iterator[Finding]:
    name, position = base_command(command)
    if command.is_array or command.is_text:
        return
    if name in _WRAPPERS or command.name in _PROBES:
        position = next((at for at, word in enumerate(command.words) if _tool(word.text)), position)
        name = command.words[position].text.rpartition("/")[2] if position < len(command.words) else ""
    tool = tools().get(name)
    if tool is None:
        return
    word = command.words[position]
    rest = command.words[position + 1 :]
    span = (word.start, max(word.end, rest[-1].end) if rest else word.end)
    if command.name in _PROBES:
        message = f"tests for `{name}`: {tool.note}"
        fix = "test for `npu-smi` to find an NPU" if tool.npu else None
        yield file.report(RULE, span, State.HAND, message, fix, subject=name)
    elif tool.npu and not rest and not command.is_piped and word.text == name and not word.is_quoted:
        yield file.rewrite(
            RULE, span, f"`{name}` becomes `{tool.npu}`", file.replace(span, tool.npu), subject=name, styles=ONLY_NPU
        )
    else:
        yield file.report(
            RULE, span, State.HAND, f"`{name}` does not exist on an Ascend machine: {tool.note}", subject=name
        )


def _tool(text: str) -> bool:
    return text.rpartition("/")[2] in tools()
