"""ATC looks every node up by its exact opset: a model outside the range is refused as a whole."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.core.finding import Finding, Level
from jumar.export.check import Check, Subject
from jumar.tables import atc

CHECK = Check("EX101", "opset-not-parsed", "the opset is one that ATC has parsers for")


def run(subject: Subject) -> Iterator[Finding]:
    opset, newest, oldest = subject.view.opset, atc.newest_opset(), atc.oldest_opset()
    if opset == 0:
        yield subject.finding(CHECK, Level.ERROR, "the model declares no opset of ONNX's own domain", "export it again")
    elif opset > newest:
        message = f"opset {opset}: ATC's newest is {newest}, so none of the {len(subject.view.nodes)} nodes is parsed"
        fix = f"`torch.onnx.export(..., opset_version={newest})`, or {subject.fixing}"
        yield subject.finding(CHECK, Level.ERROR, message, fix, f"opset {opset}")
    elif opset < oldest:
        message = f"opset {opset}: ATC has parsers for most operators from {oldest} on"
        fix = f"{subject.fixing}, or export it again with opset {newest}"
        yield subject.finding(CHECK, Level.ERROR, message, fix, f"opset {opset}")
