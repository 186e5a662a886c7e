"""Axes without a number: ATC needs a shape, or exactly one dynamic mode."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.core.finding import Finding, Level
from jumar.export.check import Check, Subject
from jumar.export.graph import shown

CHECK = Check("EX107", "dynamic-axes", "every input has a fixed shape")


def run(subject: Subject) -> Iterator[Finding]:
    for name, type_ in subject.view.inputs:
        shape = type_.shape
        if shape is None and type_.element not in ("sequence", "optional", "map", "unknown"):
            message = f"input `{name}` has no shape, not even a rank"
            fix = f'`jumar export command {subject.path} --shape "{name}:..."` must give the whole shape'
            yield subject.finding(CHECK, Level.WARNING, message, fix, name)
        elif shape and any(not isinstance(dim, int) or dim < 0 for dim in shape):
            message = f"input `{name}` has dynamic axes: {shown(shape)}"
            fixed = ",".join(str(dim) if isinstance(dim, int) and dim >= 0 else "N" for dim in shape)
            only_first = all(isinstance(dim, int) and dim >= 0 for dim in shape[1:])
            modes = "`--batch 1,2,4`" if only_first else "one of `--batch`, `--image-size`, `--dims`"
            fix = f'fix them: `jumar export command {subject.path} --shape "{name}:{fixed}"`, or {modes}'
            yield subject.finding(CHECK, Level.NOTE, message, fix, name)
