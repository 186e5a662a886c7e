"""Functions that the model brings along: ATC looks a node up by its own name and finds none."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.core.finding import Finding, Level
from jumar.export.check import Check, Subject

CHECK = Check("EX105", "local-function", "the model has no functions of its own")


def run(subject: Subject) -> Iterator[Finding]:
    functions = subject.view.model.functions
    if functions:
        names = ", ".join(f"`{function.name}`" for function in functions[:3]) + (", …" if len(functions) > 3 else "")
        message = f"the model contains {len(functions)} function{'' if len(functions) == 1 else 's'} along: {names}"
        fix = f"{subject.fixing} inlines them"
        yield subject.finding(CHECK, Level.ERROR, message, fix)
