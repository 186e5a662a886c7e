"""Names of inputs that `--input_shape` cannot carry: it separates by `:`, `;` and `,`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jumar.core.finding import Finding, Level
from jumar.export.check import Check, Subject

CHECK = Check("EX115", "input-name", "names of inputs work in ATC's options")
_PLAIN = re.compile(r"[^\s:;,\"'`$~]+")


def run(subject: Subject) -> Iterator[Finding]:
    for name, _ in subject.view.inputs:
        if not _PLAIN.fullmatch(name):
            message = f"input `{name}` has a character that `--input_shape` uses itself"
            fix = f"{subject.fixing} renames it, or `input_names=[...]` at the export"
            yield subject.finding(CHECK, Level.WARNING, message, fix, name)
