"""A lock file that pins CUDA packages: it is written anew by its tool once the requirements are changed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jumar.core.finding import Finding, Safety, State
from jumar.migrate.rule import Rule
from jumar.migrate.textfile import TextFile

RULE = Rule(
    id="RQ105",
    name="lock-file",
    summary="a lock file that pins CUDA packages",
    keywords=("nvidia", "cuda", "+cu1", "triton"),
    safety=Safety.SHOW,
)
_TOOLS = {
    "poetry.lock": "poetry lock",
    "uv.lock": "uv lock",
    "Pipfile.lock": "pipenv lock",
    "pdm.lock": "pdm lock",
    "pixi.lock": "pixi lock",
    "conda-lock.yml": "conda-lock",
}
_PACKAGE = re.compile(rb"nvidia-[\w-]+|cuda[\w-]*|triton|\+cu1\d\d")


def visit_lock(file: TextFile) -> Iterator[Finding]:
    match = _PACKAGE.search(file.source.data)
    if match is not None:
        fix = f"change the requirements, then run `{_TOOLS.get(file.name, 'the tool that wrote it')}`"
        yield file.report(RULE, match.span(), State.HAND, "this lock file pins CUDA packages", fix)
