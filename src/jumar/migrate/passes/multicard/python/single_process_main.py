"""A training script for one card: the process group, the card of each process, and the names the other rules use."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.core import discover
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
    keywords=("import",),
)


def finish(file: PyFile) -> Iterator[Finding]:
    script = scripts.of(file)
    if not script.backwards:
        return
    if script.distributed is not None:
        node, name, note = script.distributed
        own = "multiprocessing" in name
        message = f"`{name}`: this script is left as it is; {note}"
        if script.here(file, node):
            yield file.report(RULE, node, State.HAND if own else State.BENIGN, message, subject=name)
        return
    if script.is_part_of_distributed:
        return
    if script.obstacle is not None:
        reason, fix = script.obstacle
        place = script.backwards[0] if script.here(file, script.backwards[0]) else file.tree.body[-1]
        if script.here(file, script.backwards[0]) or script.is_main(file):
            yield file.report(RULE, place, State.HAND, f"not made distributed: {reason}", fix)
        return
    if script.is_main(file):
        yield from _main(script, file)
    else:
        yield from _member(script, file)


def _main(script: scripts.Script, file: PyFile) -> Iterator[Finding]:
    behind, entry = entries.end_of_imports(file), script.entry
    assert behind is not None and entry is not None
    block = preamble.edit(script, file, behind, _written(file) | text.words(text.start(file)))
    message = "the script reads its rank, its card and the number of processes"
    if entry.first is None:
        yield file.rewrite(RULE, behind, f"{message}, and joins the process group", block, needs=text.needs(file))
        return
    yield file.rewrite(RULE, behind, message, block, needs=text.needs(file))
    start = lines.before(file, entry.first, text.start(file))
    assert start is not None
    place = file.source.starts[entry.first.lineno - 1]
    yield file.rewrite(RULE, (place, place), "the process joins the process group and takes its card", start)


def _member(script: scripts.Script, file: PyFile) -> Iterator[Finding]:
    """Another file of the program: it gets what its rewritten lines use."""
    written = _written(file)
    behind = entries.end_of_imports(file)
    if not written & {*text.FUNCTIONS, *text.IMPORTS, *preamble.RANKS}:
        return
    name = script.file.main.source.path.rpartition("/")[2]
    if behind is None:
        fix = f"put the names that `{name}` defines at the head of this file by hand"
        yield file.report(RULE, file.tree.body[0], State.HAND, "there is no import behind which to define them", fix)
        return
    block = preamble.edit(script, file, behind, written)
    needs = text.needs(file) if b"CARD" in block.new else ()
    yield file.rewrite(
        RULE, behind, f"the names that `{name}` uses for many cards are defined here too", block, needs=needs
    )


def _written(file: PyFile) -> set[str]:
    """The names in what the other rules write into this file, or ask a person to write."""
    found: set[str] = set()
    for module in discover.modules(__package__):
        if hasattr(module, "RULE") and module.RULE is not RULE:
            for finding in module.finish(file):
                found |= text.words(edit.new.decode() for edit in finding.edits)
                found |= text.words([finding.fix or ""]) & set(text.FUNCTIONS)
    return found
