"""A container image built for CUDA in a configuration: `image: nvcr.io/nvidia/pytorch:25.05-py3`."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.core.finding import Finding, Safety, State
from jumar.migrate.passes.torch import images
from jumar.migrate.rule import Rule
from jumar.migrate.syntax.entry import ConfigEntry
from jumar.migrate.textfile import TextFile

RULE = Rule(
    id="YM105",
    name="container-image",
    summary="a container image that is built for CUDA",
    keywords=("cuda", "nvidia", "nvcr", "gpu"),
    safety=Safety.SHOW,
)


def visit_entry(entry: ConfigEntry, file: TextFile) -> Iterator[Finding]:
    key = entry.key.lower()
    if ("image" in key or key in ("container", "from", "base", "docker")) and images.is_cuda(entry.value):
        message = f"the image `{entry.value}` is built for CUDA"
        yield file.report(RULE, (entry.start, entry.end), State.HAND, message, images.advice(file.settings))
