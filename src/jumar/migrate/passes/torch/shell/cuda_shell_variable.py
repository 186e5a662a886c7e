"""An environment variable of CUDA, NCCL or NVIDIA's tools, set, exported, unset or read in shell text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jumar.core.edit import Edit
from jumar.core.finding import Finding, State
from jumar.migrate.document import ONLY_NPU
from jumar.migrate.passes.torch.variables import Verdict, verdict
from jumar.migrate.rule import Rule
from jumar.migrate.settings import Style
from jumar.migrate.syntax.shell import Assignment, Command, Reference, Word
from jumar.migrate.textfile import TextFile

RULE = Rule(
    id="SH101",
    name="cuda-shell-variable",
    summary="an environment variable of CUDA, NCCL or NVIDIA's tools",
    keywords=("cuda", "nccl", "nvidia", "nvte", "cublas", "cudnn", "nvshmem"),
)
_LAUNCHERS = re.compile(
    r"python[\d.]*|torchrun|deepspeed|accelerate|bash|sh|srun|mpirun|horovodrun|\./.*|uv|\$.*|.*\.(?:py|sh)|xargs|nohup|-.*"
)
_SIMPLE = re.compile(r"[\w.,:${}\"'@#*?! -]*")
"""Values that can be written a second time without a second effect."""
_PAIR = re.compile(r"(?:-\w|--\w[\w-]*=(?:ALL,)?)?([A-Z][A-Z0-9_]+)(?:=(\S*))?")


def visit_assignment(assignment: Assignment, command: Command, file: TextFile) -> Iterator[Finding]:
    value = assignment.value
    found = verdict(assignment.name, value.text, not value.has_expansion)
    if found is None:
        return
    at = (assignment.start, max(value.end, assignment.name_end))
    if not found.is_own_row and _is_own(assignment, command, file):
        yield file.report(
            RULE, at, State.BENIGN, f"`{assignment.name}` is a variable of this script", subject=assignment.name
        )
    elif found.npu is None:
        yield file.report(RULE, at, found.state, found.message, _removal(found), subject=assignment.name)
    elif command.is_text and not _LAUNCHERS.fullmatch(command.name):
        fix = f"write `{found.npu}` here if this text is run as a command"
        yield file.report(RULE, at, State.HAND, found.message, fix, subject=assignment.name)
    else:
        yield from _rename(file, assignment, command, at, found)


def _rename(
    file: TextFile, assignment: Assignment, command: Command, at: tuple[int, int], found: Verdict
) -> Iterator[Finding]:
    assert found.npu is not None
    value = assignment.value
    if file.settings.to is Style.AGNOSTIC:
        if any(other.name == found.npu for other in command.assignments):
            yield file.report(RULE, at, State.BENIGN, f"`{assignment.name}` is kept beside `{found.npu}`")
            return
        if assignment.start in file.lone_assignments or not _SIMPLE.fullmatch(file.text((value.start, value.end))):
            fix = f"set `{found.npu}` as well"
            yield file.report(RULE, at, State.HAND, found.message, fix, subject=assignment.name)
            return
        new = found.value if found.value is not None else file.text((value.start, value.end))
        message = f"`{found.npu}` is set beside `{assignment.name}`"
        yield file.rewrite(
            RULE, at, message, Edit(at[1], at[1], f" {found.npu}={new}".encode()), subject=assignment.name
        )
        return
    edits = [Edit(assignment.start, assignment.name_end, found.npu.encode())]
    if found.value is not None:
        inside = file.within((value.start, value.end), value.text)
        if inside is None:
            yield file.report(RULE, at, State.HAND, found.message, f"write `{found.npu}={found.value}`")
            return
        edits.append(file.replace(inside, found.value))
    yield file.rewrite(RULE, at, found.message, *edits, subject=assignment.name, styles=ONLY_NPU)


def visit_reference(reference: Reference, file: TextFile) -> Iterator[Finding]:
    found = verdict(reference.name)
    if found is None or file.is_covered(reference.start, reference.end):
        return
    at = (reference.start, reference.end)
    if found.npu is None:
        if not found.is_own_row:
            yield file.report(RULE, at, State.BENIGN, f"`{reference.name}` is read here", subject=reference.name)
        else:
            yield file.report(RULE, at, found.state, found.message, subject=reference.name)
    elif file.settings.to is Style.AGNOSTIC:
        message = f"`{reference.name}` is read here; on an NPU it is `{found.npu}`"
        yield file.report(RULE, at, State.HAND, message, subject=reference.name)
    else:
        yield file.rewrite(
            RULE, at, found.message, file.replace(at, found.npu), subject=reference.name, styles=ONLY_NPU
        )


def visit_command(command: Command, file: TextFile) -> Iterator[Finding]:
    """Names handed over as words: `unset NAME`, `export NAME`, `mpirun -x NAME=value`, `docker run -e NAME`."""
    for word in command.words[1:]:
        match = _PAIR.fullmatch(word.text)
        found = verdict(match.group(1), match.group(2), not word.has_expansion) if match else None
        if match is None or found is None or file.is_covered(word.start, word.end):
            continue
        yield from _word(file, word, match.group(1), found)


def _word(file: TextFile, word: Word, name: str, found: Verdict) -> Iterator[Finding]:
    at = (word.start, word.end)
    inside = file.within(at, name)
    if found.npu is None or inside is None:
        yield file.report(RULE, at, found.state, found.message, _removal(found), subject=name)
        return
    edits = [file.replace(inside, found.npu)]
    if found.value is not None:
        value = file.within((inside[1] + 1, word.end), word.text.partition("=")[2])
        if value is None:
            yield file.report(RULE, at, State.HAND, found.message, subject=name)
            return
        edits.append(file.replace(value, found.value))
    yield file.rewrite(RULE, at, found.message, *edits, subject=name, styles=ONLY_NPU)


def _is_own(assignment: Assignment, command: Command, file: TextFile) -> bool:
    """Is it a plain variable that the script itself reads again?"""
    if command.words and command.name not in ("local", "declare", "readonly", "typeset"):
        return False
    return any(
        reference.name == assignment.name and reference.start != assignment.start
        for script in file.scripts
        for reference in script.references
    )


def _removal(found: Verdict) -> str | None:
    return "nothing to do; you may delete the line" if found.state is State.BENIGN else None
