"""What a rule sees of a file in any language, and the one way it speaks: `rewrite` and `report`.

A finding is made here and nowhere else: its level follows from its state, its state from the settings (which styles
are written, whether unsafe edits are allowed). What the user keeps with `jumar: keep` is settled in `engine.settled`.
"""

from __future__ import annotations

import ast
import dataclasses
from typing import TYPE_CHECKING, Any, NamedTuple

from jumar.core.edit import Edit
from jumar.core.finding import Finding, Level, Safety, State, Where
from jumar.core.source import HasSpan, Source
from jumar.migrate.settings import Settings, Style

if TYPE_CHECKING:
    from jumar.migrate.rule import Rule

LEVELS = {
    State.REWRITTEN: Level.NOTE,
    State.HAND: Level.WARNING,
    State.UNSUPPORTED: Level.ERROR,
    State.FALLBACK: Level.WARNING,
    State.BENIGN: Level.NOTE,
}
EVERY_STYLE = frozenset(Style)
WRITTEN_STYLES = EVERY_STYLE - {Style.IMPORT}
"""The styles that change a program's text; the other leaves it to be patched when the program starts."""
ONLY_NPU = frozenset({Style.NPU})
"""For what can name only one kind of device."""
Span = tuple[int, int]


class Change(NamedTuple):
    """What is written at a site: the edits and the imports they need."""

    edits: tuple[Edit, ...]
    needs: tuple[str, ...] = ()
    note: str = ""
    """What to add to the message: ` at run time` when nothing is written."""


def about_file(rule: Rule, path: str, message: str, fix: str | None = None, level: Level = Level.WARNING) -> Finding:
    """A finding about a file as a whole, whose text need not be known."""
    return Finding(rule.id, level, message, Where(path), fix, Safety.SHOW, State.HAND, rule.name)


class Document:
    """A source with the settings of the run and what rules have said about it so far."""

    def __init__(self, source: Source, settings: Settings) -> None:
        self.source = source
        self.settings = settings
        self.needs: dict[int, tuple[str, ...]] = {}
        """Imports wanted by a finding's edits, by the finding's identity."""
        self.covered: list[Span] = []
        """Places that some rule has spoken about."""
        self.said: set[str] = set()
        """What is said once in a file, and has been."""
        self.nodes: dict[int, ast.AST] = {}
        """The syntax node that a finding is about, by the finding's identity."""

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
        *edits: Edit | Change | None,
        safety: Safety | None = None,
        needs: tuple[str, ...] = (),
        subject: str = "",
        styles: frozenset[Style] = EVERY_STYLE,
        at_run_time: bool = False,
        otherwise: str | None = None,
        about: ast.AST | None = None,
    ) -> Finding:
        """The site is rewritten by `edits`; with none, it already works unchanged on the target.

        `None` among the edits says that the site cannot be written; `styles` are those in which it is. In all other
        cases the run-time import does it (`at_run_time`), or a person has to, for which `otherwise` is the advice.
        `about` is the syntax node when `at` is only a place.
        """
        change = _joined(edits, needs)
        if change is None:
            return self.report(rule, at, State.HAND, message, otherwise, subject)
        if self.settings.to not in styles:
            if not (at_run_time and self.settings.to is Style.IMPORT):
                advice = otherwise if otherwise is not None else self.by_hand(change.edits)
                return self.report(rule, at, State.HAND, message, advice, subject)
            change = Change((), note=" at run time")
        chosen = safety or rule.safety
        asks = chosen is Safety.SHOW or (chosen is Safety.ASK and not self.settings.unsafe)
        state = State.HAND if asks else State.REWRITTEN
        finding = self._finding(rule, at, state, message + change.note, None, chosen, change.edits, subject)
        if change.needs:
            self.needs[id(finding)] = change.needs
        if about is not None:
            self.nodes[id(finding)] = about
        return finding

    def amended(self, finding: Finding, **changes: Any) -> Finding:
        """The finding with other words or edits, about the same place."""
        new = dataclasses.replace(finding, **changes)
        if id(finding) in self.nodes:
            self.nodes[id(new)] = self.nodes[id(finding)]
        if new.edits and id(finding) in self.needs:
            self.needs[id(new)] = self.needs[id(finding)]
        return new

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
        return self._finding(rule, at, state, message, fix, Safety.SHOW, (), subject)

    def by_hand(self, edits: tuple[Edit, ...]) -> str:
        """What a person can do about a site that the chosen style does not write."""
        return "change it by hand, or use `--to npu`: the run-time import does not reach it"

    def _finding(
        self,
        rule: Rule,
        at: HasSpan | Span,
        state: State,
        message: str,
        fix: str | None,
        safety: Safety,
        edits: tuple[Edit, ...],
        subject: str,
    ) -> Finding:
        start, end = self.span(at)
        self.covered.append((start, end))
        where = self.source.where(start, end)
        finding = Finding(rule.id, LEVELS[state], message, where, fix, safety, state, rule.name, edits, subject)
        # A finding that a rule dropped may have left its identity behind.
        self.nodes.pop(id(finding), None)
        if isinstance(at, ast.AST):
            self.nodes[id(finding)] = at
        return finding


def _joined(parts: tuple[Edit | Change | None, ...], needs: tuple[str, ...]) -> Change | None:
    """All parts as one change; None when one of them cannot be made."""
    edits: list[Edit] = []
    note = ""
    for part in parts:
        if part is None:
            return None
        if isinstance(part, Change):
            edits += part.edits
            needs += part.needs
            note += part.note
        else:
            edits.append(part)
    return Change(tuple(edits), needs, note)
