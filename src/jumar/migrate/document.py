"""What a rule sees of a file in any language, and how it speaks: `rewrite` and `report`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jumar.core.edit import Edit
from jumar.core.finding import Finding, Level, Safety, State
from jumar.core.source import HasSpan, Source

if TYPE_CHECKING:
    from jumar.migrate.rule import Rule
    from jumar.migrate.settings import Settings

LEVELS = {
    State.REWRITTEN: Level.NOTE,
    State.HAND: Level.WARNING,
    State.UNSUPPORTED: Level.ERROR,
    State.FALLBACK: Level.WARNING,
    State.BENIGN: Level.NOTE,
}
Span = tuple[int, int]


class Document:
    """A source with the settings of the run and what rules have said about it so far."""

    def __init__(self, source: Source, settings: Settings) -> None:
        self.source = source
        self.settings = settings
        self.needs: dict[int, tuple[str, ...]] = {}
        """Imports wanted by a finding's edits, by the finding's identity."""
        self.covered: list[Span] = []
        """Places that some rule has spoken about."""

    def span(self, at: HasSpan | Span) -> Span:
        return at if isinstance(at, tuple) else self.source.span(at)

    def text(self, at: HasSpan | Span) -> str:
        start, end = self.span(at)
        return self.source.data[start:end].decode("utf-8", "replace")

    def replace(self, at: HasSpan | Span, new: str) -> Edit:
        start, end = self.span(at)
        return Edit(start, end, new.encode())

    def rewrite(
        self,
        rule: Rule,
        at: HasSpan | Span,
        message: str,
        *edits: Edit,
        safety: Safety | None = None,
        needs: tuple[str, ...] = (),
        subject: str = "",
    ) -> Finding:
        """The site is rewritten by `edits`; with none, it already works as it stands on the target."""
        start, end = self.span(at)
        level = LEVELS[State.REWRITTEN]
        safety = safety or rule.safety
        state = State.REWRITTEN
        if safety is Safety.SHOW or (safety is Safety.ASK and not self.settings.unsafe):
            state, level = State.HAND, LEVELS[State.HAND]
        where = self.source.where(start, end)
        self.covered.append((start, end))
        finding = Finding(rule.id, level, message, where, None, safety, state, rule.name, edits, subject)
        if needs:
            self.needs[id(finding)] = needs
        return finding

    def report(
        self,
        rule: Rule,
        at: HasSpan | Span,
        state: State,
        message: str,
        fix: str | None = None,
        subject: str = "",
    ) -> Finding:
        """The site is left as it is; `state` says what that means."""
        start, end = self.span(at)
        self.covered.append((start, end))
        where = self.source.where(start, end)
        return Finding(rule.id, LEVELS[state], message, where, fix, Safety.SHOW, state, rule.name, (), subject)
