"""A container started with GPUs: `docker run --gpus all`, `--runtime=nvidia`, `singularity exec --nv`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jumar.core.finding import Finding, Safety, State
from jumar.migrate.passes.torch import images
from jumar.migrate.rule import Rule
from jumar.migrate.syntax.shell import Command, base_command
from jumar.migrate.textfile import TextFile

RULE = Rule(
    id="SH104",
    name="docker-gpu-flag",
    summary="a container that is started with GPUs",
    keywords=("gpu", "nvidia", "--nv", "cuda"),
    safety=Safety.SHOW,
)
DEVICES = (
    "--device=/dev/davinci0 --device=/dev/davinci_manager --device=/dev/devmm_svm --device=/dev/hisi_hdc "
    "-v /usr/local/Ascend/driver:/usr/local/Ascend/driver:ro -v /usr/local/bin/npu-smi:/usr/local/bin/npu-smi:ro"
)
_ENGINES = frozenset({"docker", "podman", "nerdctl", "singularity", "apptainer", "enroot", "nvidia-docker"})
_FLAG = re.compile(r"--gpus?\b.*|--runtime(?:=nvidia)?|--nv|--nvccli|--device=nvidia\.com/gpu.*")


def visit_command(command: Command, file: TextFile) -> Iterator[Finding]:
    name, position = base_command(command)
    if name not in _ENGINES:
        return
    words = command.words[position + 1 :]
    for at, word in enumerate(words):
        if _FLAG.fullmatch(word.text):
            follows = words[at + 1] if at + 1 < len(words) and word.text in ("--gpus", "--gpu", "--runtime") else word
            if word.text == "--runtime" and follows.text != "nvidia":
                continue
            span = (word.start, follows.end)
            message = f"`{file.text(span)}` gives GPUs to the container"
            yield file.report(RULE, span, State.HAND, message, f"give it NPUs: `{DEVICES}` (one `davinci` per card)")
        elif images.is_cuda(word.text):
            message = f"the image `{word.text}` is built for CUDA"
            yield file.report(RULE, (word.start, word.end), State.HAND, message, images.advice(file.settings))
