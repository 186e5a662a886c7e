"""GPUs asked from a scheduler: `#SBATCH --gres=gpu:8`, `srun --gpus-per-node`, `#PBS -l ngpus=4`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jumar.core.finding import Finding, Safety, State
from jumar.migrate.document import Span
from jumar.migrate.passes.torch import markers
from jumar.migrate.rule import Rule
from jumar.migrate.syntax.shell import Command
from jumar.migrate.textfile import TextFile

RULE = Rule(
    id="SH103",
    name="gpu-resource-request",
    summary="GPUs requested from a batch scheduler",
    keywords=("gpu", "nvidia", "cuda"),
    safety=Safety.SHOW,
)
_SCHEDULERS = frozenset({"srun", "sbatch", "salloc", "qsub", "bsub", "sinfo", "squeue", "scontrol"})
_REQUEST = re.compile(r"--?(?:gres|gpus?(?:-[\w-]+)?|ntasks-per-gpu|cpus-per-gpu|mem-per-gpu|constraint|tres[\w-]*)\b")
_ADVICE = "ask your administrator how the site names NPUs (often `--gres=npu:8`) and write it here"


def visit_directive(span: Span, file: TextFile) -> Iterator[Finding]:
    text = file.text(span)
    if markers.found(text.partition(" ")[2]) is None or re.search(r"--(?:job-name|output|error|comment)|-[Joe] ", text):
        return
    yield file.report(RULE, span, State.HAND, f"`{text}` requests GPUs from the scheduler", _ADVICE, subject="gpu")


def visit_command(command: Command, file: TextFile) -> Iterator[Finding]:
    is_request = command.name.rpartition("/")[2] in _SCHEDULERS
    if not (is_request or command.is_array or command.is_text):
        return
    for position, word in enumerate(command.words):
        if not word.text.startswith("-") or not _REQUEST.match(word.text):
            continue
        if not is_request and not re.match(r"--(?:gres|gpus-per-(?:node|task|socket)|gpu-bind|gpu-freq)\b", word.text):
            continue
        end = word.end
        if "=" not in word.text and position + 1 < len(command.words):
            end = command.words[position + 1].end
        if markers.found(file.text((word.start, end))):
            yield file.report(
                RULE,
                (word.start, end),
                State.HAND,
                f"`{file.text((word.start, end))}` requests GPUs from the scheduler",
                _ADVICE,
            )
