"""Weights in other files must be beside the model."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.core.finding import Finding, Level
from jumar.export.check import Check, Subject

CHECK = Check("EX112", "external-data", "external data exists")


def run(subject: Subject) -> Iterator[Finding]:
    by_problem: dict[tuple[str, str], list[str]] = {}
    for tensor, location, problem in subject.external:
        if problem:
            by_problem.setdefault((problem, location), []).append(tensor)
    for (problem, location), names in sorted(by_problem.items()):
        message = f"data of {len(names)} tensor(s), such as `{names[0]}`: {problem}: `{location}`"
        fix = "copy the file beside the model; a path out of the folder is never followed"
        yield subject.finding(CHECK, Level.ERROR, message, fix, location)
