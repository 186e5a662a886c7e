"""The words of a signature in the language of the reader: a form is translated first and then filled from the line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from jumar.core import lang
from jumar.core.compat import zip

Say = Callable[[str], str]
"""Translates a text, or leaves it as it is."""
_FIELD = re.compile(r"\{(\w+)\}")
_OUTSIDE = r"(?![^`]*`(?:[^`]*`[^`]*`)*[^`]*$)"
_CLAUSE = re.compile(rf"(?:[,:] |[，：]){_OUTSIDE}")
"""Where a clause of a sentence ends; not inside of backticks."""
_NONE = "\x01"
_EMPTY = re.compile(r" ?\(\x01\)|（\x01）| ?`\x01`| ?\x01(?=[ ,，）)])|\x01 ?")
"""What is left of a place whose value is not on the line."""
_BRACKETS = re.compile(r"(?<=[\w`])(?<![\u4e00-\u9fff])（\x01）(?=[\u4e00-\u9fff])")
"""The same between a value and Chinese words, which a blank keeps apart."""
_ENDS = " ,:，："
_OURS = ("owner",)
"""Values that are words of ours, not of the log."""
_SAYS = "the log says: {0}"
"""A headline none of whose values is on the line."""
_QUOTES = "these are the log's own words; the code alone says: {0}; {1}"
_ACT = "act on these words first: they name the path, value, setting or part; the steps below are those of the code"
_SOURCE = re.compile(r"(; | \(|\)(?:, )?)")
_MARKS = {"; ": "；", " (": "（", ")": "）", "), ": "），"}


class Words(NamedTuple):
    """What happened, why, and what to do."""

    what: str
    why: str
    do: tuple[str, ...]


class Form(NamedTuple):
    """Words of a row before they are filled, and what the line says."""

    words: Words
    values: tuple[tuple[str, str], ...] | None = None
    """By the names of the places; None for a row without places."""
    quote: str = ""
    """The log's own words, which stand before those of a row that knows a code only."""

    def said(self, say: Say = str) -> Words:
        """The words in the language of `say`."""
        found = self._filled(say) if self.values is not None else _translated(self.words, say)
        if not self.quote:
            return found
        why = say(_QUOTES).format(found.what, found.why)
        return Words(self.quote, why, (say(_ACT), *found.do))

    def _filled(self, say: Say) -> Words:
        """Steps without their values are left out."""
        values = {name: say(value) if name in _OURS else value for name, value in self.values or ()}
        what, why, steps = self.words
        do = [step for step in steps if all(values.get(name) for name in fields(step))]
        headline = fill(say(what), values) if fill(what, values) else say(_SAYS).format(values.get("line", ""))
        return Words(headline, fill(say(why), values), tuple(fill(say(step), values) for step in do))


def _translated(words: Words, say: Say) -> Words:
    return Words(say(words.what), say(words.why), tuple(map(say, words.do)))


def fields(text: str) -> list[str]:
    """The names of values that a text of a row has places for."""
    return _FIELD.findall(text)


def fill(text: str, values: dict[str, str]) -> str:
    """A clause all of whose values are missing is left out; of a missing value its brackets."""
    kept = ""
    for mark, clause in zip(["", *_CLAUSE.findall(text)], _CLAUSE.split(text), strict=True):
        names = fields(clause)
        if not names or any(values.get(name) for name in names):
            kept += mark + lang.placed(clause, {name: values.get(name) or _NONE for name in names})
    return _EMPTY.sub("", _BRACKETS.sub(" ", kept)).strip(_ENDS)


def source(text: str) -> str:
    """Where it is written: names of pages stay, the remarks about them are translated."""
    if lang.current() == lang.ENGLISH:
        return text
    pieces = enumerate(_SOURCE.split(text))
    return "".join(_MARKS.get(piece, piece) if at % 2 else lang.t(piece) for at, piece in pieces)


def source_pieces(text: str) -> Iterator[str]:
    """The parts of a source that are translated one by one."""
    yield from filter(None, _SOURCE.split(text)[::2])
