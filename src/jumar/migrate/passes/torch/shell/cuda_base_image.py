"""A Dockerfile that builds on a CUDA image: `FROM nvidia/cuda:…`, `ARG BASE=nvcr.io/nvidia/pytorch:…`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jumar.core.finding import Finding, Safety, State
from jumar.migrate.passes.torch import images, markers
from jumar.migrate.rule import Rule
from jumar.migrate.syntax.dockerfile import Instruction
from jumar.migrate.textfile import TextFile

RULE = Rule(
    id="SH108",
    name="cuda-base-image",
    summary="a Dockerfile that builds on a CUDA image",
    keywords=("cuda", "nvidia", "nvcr", "gpu", ":cu1", "-cu1"),
    safety=Safety.SHOW,
)


def visit_instruction(instruction: Instruction, file: TextFile) -> Iterator[Finding]:
    if instruction.name not in ("FROM", "ARG", "ENV"):
        return
    data = file.source.data
    for match in re.finditer(rb"[^\s=\"']+", data[instruction.start : instruction.end]):
        text = match.group().decode("utf-8", "replace")
        is_name = instruction.name != "FROM" and "/" not in text
        if not text.startswith("-") and not is_name and images.is_cuda(text):
            span = (instruction.start + match.start(), instruction.start + match.end())
            yield file.report(
                RULE, span, State.HAND, f"the image `{text}` is built for CUDA", images.advice(file.settings)
            )


def finish(file: TextFile) -> Iterator[Finding]:
    """Other instructions (`LABEL`, `COPY`, `ENTRYPOINT`): what they say of CUDA is shown."""
    stages: set[str] = set()
    for instruction in file.instructions:
        span = (instruction.start, instruction.end)
        marker = markers.found(file.text(span))
        flags = file.source.data[instruction.start : instruction.end].split(b" ", 1)[0]
        if instruction.name == "RUN" and flags.startswith(b"--") and markers.found(flags.decode("utf-8", "replace")):
            at = (instruction.start, instruction.start + len(flags))
            yield file.report(RULE, at, State.BENIGN, "`RUN` mounts a file of the project")
        if instruction.name == "FROM" and _is_stage(file.text(span), stages):
            continue
        if instruction.name in ("RUN", "ENV", "ARG", "CMD", "ENTRYPOINT", "SHELL", "HEALTHCHECK"):
            continue
        if marker and not file.is_covered(*span):
            state = State.BENIGN if instruction.name in ("LABEL", "MAINTAINER", "COPY", "ADD") else State.HAND
            yield file.report(RULE, span, state, f"`{instruction.name}` with `{marker}`")


def _is_stage(text: str, stages: set[str]) -> bool:
    """Does `FROM` speak of CUDA in the names of stages only? The name that it gives is added to the known ones."""
    words = [word.lower() for word in text.split() if not word.startswith("--")]
    image = words[0] if words else ""
    is_own = image in stages or not markers.found(image)
    if words[1:2] == ["as"]:
        stages.update(words[2:3])
    return is_own
