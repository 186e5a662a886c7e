"""A program of the CUDA toolkit or the NVIDIA driver called in shell text: `nvidia-smi`, `nvcc`, `nsys`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from jumar.core.finding import Finding, State
from jumar.migrate.document import ONLY_NPU, Span
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
_LISTS = re.compile(r"-L|--list-gpus|--query-gpu=[\w.,]+ --format=csv,noheader(?:,nounits)?")
_COUNTED = re.compile(rb"[ \t\\\r\n]*\|[ \t\\\r\n]*wc[ \t]+(?:-l|--lines)(?![\w-])")
_CARDS = "npu-smi info -m | grep Ascend"
"""One line for each card, also where an NPU has two of them; `npu-smi` of driver 25.5."""


class Use(NamedTuple):
    """A tool in a command, and what is written instead of it and its options; None where nobody knows."""

    name: str
    span: Span
    new: str | None


def visit_command(command: Command, file: TextFile) -> Iterator[Finding]:
    use = _use(command, file)
    if use is None:
        return
    name, span, new = use
    tool = tools()[name]
    is_probe = command.name in _PROBES
    if new is not None and (not is_probe or _is_whole(name, file)) and _is_free(name, file):
        shown = file.text(span)
        yield file.rewrite(
            RULE, span, f"`{shown}` becomes `{new}`", file.replace(span, new), subject=name, styles=ONLY_NPU
        )
    elif is_probe:
        fix = "test for `npu-smi` to find an NPU" if tool.npu else None
        yield file.report(RULE, _rest(command, span), State.HAND, f"tests for `{name}`: {tool.note}", fix, subject=name)
    else:
        message = f"`{name}` does not exist on an Ascend machine: {tool.note}"
        yield file.report(RULE, _rest(command, span), State.HAND, message, subject=name)


def _use(command: Command, file: TextFile) -> Use | None:
    name, position = base_command(command)
    if command.is_array or command.is_text:
        return None
    if name in _WRAPPERS or command.name in _PROBES:
        position = next((at for at, word in enumerate(command.words) if _tool(word.text)), position)
        name = command.words[position].text.rpartition("/")[2] if position < len(command.words) else ""
    tool = tools().get(name)
    if tool is None:
        return None
    word = command.words[position]
    rest = command.words[position + 1 :]
    if word.text != name or word.is_quoted or not tool.npu:
        return Use(name, (word.start, word.end), None)
    if command.name in _PROBES:
        return Use(name, (word.start, word.end), tool.npu.partition(" ")[0])
    span = (word.start, max(word.end, rest[-1].end) if rest else word.end)
    if not rest and not command.is_piped:
        return Use(name, span, tool.npu)
    is_counted = _LISTS.fullmatch(" ".join(one.text for one in rest)) and _COUNTED.match(file.source.data, span[1])
    return Use(name, span, _CARDS if is_counted else None)


def _is_whole(name: str, file: TextFile) -> bool:
    """Does the script also call what it tests for?"""
    return any(use is not None and use.name == name and command.name not in _PROBES for command, use in _uses(file))


def _is_free(name: str, file: TextFile) -> bool:
    """A test for a tool and all its calls change together: none has to stay, or none is tested for."""
    uses = [(command, use) for command, use in _uses(file) if use is not None and use.name == name]
    is_tested = any(command.name in _PROBES for command, _ in uses)
    return not is_tested or all(use.new is not None for _, use in uses)


def _uses(file: TextFile) -> list[tuple[Command, Use | None]]:
    return [(command, _use(command, file)) for command in file.commands if command.words]


def _rest(command: Command, span: Span) -> Span:
    return span[0], max(span[1], command.words[-1].end)


def _tool(text: str) -> bool:
    return text.rpartition("/")[2] in tools()
