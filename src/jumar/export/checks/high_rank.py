"""Values of more than four axes: ATC's ND format is documented for up to four, NCDHW for five."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.core.finding import Finding, Level
from jumar.export.check import Check, Subject
from jumar.export.graph import shown

CHECK = Check("EX110", "high-rank", "no input has more axes than ATC's formats, no value more than eight")
ND, VOLUME, MOST = 4, 5, 8


def run(subject: Subject) -> Iterator[Finding]:
    for name, type_ in subject.view.inputs:
        rank = len(type_.shape or ())
        if rank > ND:
            fix = "`--format NCDHW` if it is a volume" if rank == VOLUME else "fold axes together before the model"
            message = f"input `{name}` has {rank} axes {shown(type_.shape)}: the ND format is documented for up to {ND}"
            yield subject.finding(CHECK, Level.WARNING, message, fix, name)
    tall = [(name, type_) for name, type_ in subject.view.types.items() if len(type_.shape or ()) > MOST]
    if tall:
        name, type_ = tall[0]
        message = f"{len(tall)} value(s) with more than {MOST} axes, such as `{name}` {shown(type_.shape)}"
        fix = "fold axes with a reshape before the operator that needs them"
        yield subject.finding(CHECK, Level.WARNING, message, fix, name)
