"""The CUDA toolkit in paths and modules: `/usr/local/cuda`, `LD_LIBRARY_PATH=…cuda…`, `module load cuda/12.1`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jumar.core.finding import Finding, Safety, State
from jumar.migrate.rule import Rule
from jumar.migrate.syntax.shell import Assignment, Command, base_command
from jumar.migrate.textfile import TextFile

RULE = Rule(
    id="SH106",
    name="cuda-toolkit-path",
    summary="the CUDA toolkit in paths, modules and system packages",
    keywords=("cuda", "cudnn", "nccl", "nvidia"),
    safety=Safety.SHOW,
)
SET_ENV = "source /usr/local/Ascend/ascend-toolkit/set_env.sh"
_PATH = re.compile(
    r"/(?:usr/local|opt|usr/lib|usr/share|etc)/(?:[\w.-]+/)*(?:cuda|cudnn|nccl|nvidia)[\w./*-]*|\$\{?CUDA_(?:HOME|PATH|ROOT)\b",
    re.I,
)
_MODULE = re.compile(r"(?:[\w.-]+/)*(?:cuda|cudnn|nccl|nvhpc|nvidia)[\w.-]*(?:/.*)?", re.I)
_SYSTEM = re.compile(r"(?:lib)?(?:cuda|cudnn|nccl|nvidia|nvinfer|cublas)[\w.+-]*(?:=.*)?", re.I)
_INSTALLERS = frozenset({"apt", "apt-get", "yum", "dnf", "zypper", "dpkg", "rpm", "apt-mark", "apk"})


def visit_assignment(assignment: Assignment, command: Command, file: TextFile) -> Iterator[Finding]:
    at = (assignment.start, max(assignment.value.end, assignment.name_end))
    if _PATH.search(assignment.value.text) and not file.is_covered(*at):
        message = f"`{assignment.name}` points into the CUDA toolkit"
        yield file.report(RULE, at, State.HAND, message, f"`{SET_ENV}` sets the paths of CANN; delete this one")


def visit_command(command: Command, file: TextFile) -> Iterator[Finding]:
    name, position = base_command(command)
    words = command.words[position + 1 :]
    if name in ("module", "ml", "spack"):
        for word in words:
            if _MODULE.fullmatch(word.text):
                message = f"loads the module `{word.text}`"
                fix = f"load the module of CANN that your site has, or `{SET_ENV}`"
                yield file.report(RULE, (word.start, word.end), State.HAND, message, fix)
    if name in _INSTALLERS:
        for word in words:
            if _SYSTEM.fullmatch(word.text) or _SYSTEM.fullmatch(word.text.rpartition("/")[2]):
                message = f"`{word.text}` belongs to the CUDA driver or toolkit"
                fix = "an Ascend machine needs the NPU driver and CANN instead; `jumar plan` lists the steps"
                yield file.report(RULE, (word.start, word.end), State.HAND, message, fix)
    for word in command.words:
        if (
            _PATH.search(word.text)
            and not file.is_covered(word.start, word.end)
            and command.name not in ("echo", "printf")
        ):
            message = f"`{word.text[:80]}` is in the CUDA toolkit"
            yield file.report(RULE, (word.start, word.end), State.HAND, message, f"use the paths of CANN: `{SET_ENV}`")
