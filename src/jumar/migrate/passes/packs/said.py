"""How a row of a pack speaks: what it knows becomes a finding, and where that is certain an edit."""

from __future__ import annotations

from collections.abc import Iterator

from jumar.core.edit import Edit
from jumar.core.finding import Finding, State
from jumar.core.source import HasSpan
from jumar.migrate.document import ONLY_NPU, Document, Span
from jumar.migrate.passes.packs.rows import Pack, Row
from jumar.migrate.rule import Rule


def rule_of(pack: Pack) -> Rule:
    """The rule that all rows of a pack are."""
    return Rule(pack.id, pack.name, pack.summary, ())


def once(pack: Pack, row: Row, file: Document, at: HasSpan | Span, what: str) -> Iterator[Finding]:
    """The finding of a row; what is only worth a note is said once in a file."""
    key = f"{pack.id} {row.name}"
    if row.state is not State.BENIGN or key not in file.said:
        file.said.add(key)
        yield about(pack, row, file, at, what)


def about(
    pack: Pack, row: Row, file: Document, at: HasSpan | Span, what: str, *edits: Edit, shown: str = ""
) -> Finding:
    """The finding of a row at a place; `edits` are made with `--to npu`, elsewhere they are the advice."""
    if not edits:
        state = State.HAND if row.state is State.REWRITTEN else row.state
        return file.report(rule_of(pack), at, state, f"{what}: {row.note}", row.fix, subject=row.name)
    return file.rewrite(
        rule_of(pack), at, f"{what} becomes `{shown}`: {row.note}", *edits, styles=ONLY_NPU, subject=row.name,
        otherwise=row.fix or f"write `{shown}` where the program runs on NPUs",
    )  # fmt: skip
