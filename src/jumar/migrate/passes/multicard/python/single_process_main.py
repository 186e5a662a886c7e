"""A training script for one card: the process group, the card of each process, and the names the other rules use."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.core.finding import Finding, State
from jumar.migrate import lines
from jumar.migrate.passes.multicard import entry as entries
from jumar.migrate.passes.multicard import preamble, text
from jumar.migrate.passes.multicard import script as scripts
from jumar.migrate.pyfile import PyFile
from jumar.migrate.rule import Rule

RULE = Rule(
    id="PT300",
    name="single-process-main",
    summary="a training script that runs as one process on one card",
    keywords=("backward",),
)


def finish(file: PyFile) -> Iterator[Finding]:
    script = scripts.of(file)
    if not script.backwards:
        return
    if script.distributed is not None:
        node, name, note = script.distributed
        own = "multiprocessing" in name
        message = f"`{name}`: this script is left as it is; {note}"
        yield file.report(RULE, node, State.HAND if own else State.BENIGN, message, subject=name)
        return
    if script.obstacle is not None:
        reason, fix = script.obstacle
        yield file.report(RULE, script.backwards[0], State.HAND, f"not made distributed: {reason}", fix)
        return
    behind, entry = entries.end_of_imports(script), script.entry
    assert behind is not None and entry is not None
    block = preamble.edit(script, behind)
    message = "the script reads its rank, its card and the number of processes"
    if entry.first is None:
        yield file.rewrite(RULE, behind, f"{message}, and joins the process group", block, needs=text.needs(file))
        return
    yield file.rewrite(RULE, behind, message, block, needs=text.needs(file))
    start = lines.before(file, entry.first, text.start(file))
    assert start is not None
    place = file.source.starts[entry.first.lineno - 1]
    yield file.rewrite(RULE, (place, place), "the process joins the process group and takes its card", start)
