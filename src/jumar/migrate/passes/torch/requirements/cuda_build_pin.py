"""A version pinned to a CUDA build: `torch==2.7.1+cu118`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jumar.core.edit import Edit
from jumar.core.finding import Finding, State
from jumar.migrate.pins import How, Pin
from jumar.migrate.rule import Rule
from jumar.migrate.settings import Style
from jumar.migrate.textfile import TextFile

RULE = Rule(
    id="RQ102",
    name="cuda-build-pin",
    summary="a version pinned to a CUDA build",
    keywords=("+cu", "cuda", "cu11", "cu12", "cu13"),
)
_LOCAL = re.compile(rb"(?<=[\d*])\+cu\d+(?:\.\w+)*")
_PUBLIC = frozenset({"torch", "torchvision", "torchaudio", "torchtext", "torchdata"})


def visit_pins(found: list[Pin], file: TextFile) -> Iterator[Finding]:
    for pin in found:
        yield from _pin(pin, file)


def _pin(pin: Pin, file: TextFile) -> Iterator[Finding]:
    span = (pin.start, pin.end)
    if pin.how is How.CONDA:
        if re.search(r"=.*(?:cuda|cu\d)", pin.text) and not file.is_covered(*span):
            yield file.report(
                RULE, span, State.HAND, f"`{pin.text}` is a CUDA build", "choose a CPU build, or pip's `torch`"
            )
        return
    match = _LOCAL.search(file.source.data, pin.start, pin.end)
    if match is None:
        return
    local = match.group().decode()
    if pin.name in _PUBLIC and "@" not in pin.text:
        message = f"`{local}` names a CUDA build of {pin.name}: the plain version is installed instead"
        if file.settings.to is Style.AGNOSTIC:
            yield file.report(RULE, match.span(), State.HAND, f"`{local}` names a CUDA build of {pin.name}")
        else:
            yield file.rewrite(RULE, match.span(), message, Edit(*match.span(), b""))
    else:
        fix = f"find a build of `{pin.name or pin.text}` without CUDA, or build it from source"
        yield file.report(RULE, span, State.HAND, f"`{local}` names a CUDA build", fix)
