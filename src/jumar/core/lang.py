"""The language of what people read: English texts are translated where they are shown.

Values, JSON and files for programs keep their English words; only the place that prints for a person calls `t`. It
looks the text up in `locale/zh_CN`, whole or as a template: an entry such as "no such file: `{0}`" fits the finished
sentence, and the values in it are carried over. So code says what it has to say once, with an f-string, and needs no
marks. `tools/messages.py` compares the catalogue with the sources.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

CHINESE, ENGLISH = "zh", "en"
LANGUAGES = (CHINESE, ENGLISH)
FOLDER = Path(__file__).parents[1] / "locale" / "zh_CN" / "LC_MESSAGES"
ENTRY = re.compile(r'^msgid "(.+)"\nmsgstr "(.+)"$', re.M)
PLACE = re.compile(r"\{(\w+)\}")
_ESCAPE = re.compile(r"\\(.)")
_CODE = re.compile(r"`[^`]*`|[\w.]+: \S+ -> \S+|\d[\d.,]* ?[a-zA-Z%/]+|[\w-]+ v?\d[\w.+]*")
_WORD = re.compile(r"(?:^|\s)[a-z]{2,}(?=[\s,;:.)]|$)")
_COMMAND = re.compile(
    r"(?:jumar|pip|python3?|npu-smi|hccn_tool|export(?=\s\w+=)|source(?=\s\S*[/.])|docker|ssh|sudo|apt(?:-get)?|yum|bash|sh|cat|dmesg|echo|\./\S+)\s"
)
_TOKEN = re.compile(r"\S+|`[^`]*`")
_NUMBERED = re.compile(r"(?<=\d\)), ")
"""Between items with a number behind them, which may have commas of their own."""
_COMMA = re.compile(r", (?![^()]*\))")
_LIST = re.compile(r"`, `")
"""Between the names of a list."""
_PLAIN = re.compile(r"an?|the|[A-Za-z][a-z]{2,}")
_OWN = 5
"""A template with fewer letters of its own, such as "{0} for {1}", takes no plain English word as a value."""
_QUOTES = 8
"""A template with so many letters of its own may end with words of others: "cannot read `x`: …"."""
_MARKS = frozenset("，。：；、！？（）“”")
_DEPTH = 5
_chosen = ENGLISH


def of_locale(environ: Mapping[str, str]) -> str:
    """The language that the locale asks for."""
    names = (environ.get(name, "") for name in ("LC_ALL", "LC_MESSAGES", "LANG"))
    return CHINESE if next(filter(None, names), "").lower().startswith(CHINESE) else ENGLISH


@contextmanager
def chosen(language: str) -> Iterator[None]:
    """What is shown inside is in this language."""
    global _chosen
    before, _chosen = _chosen, language
    try:
        yield
    finally:
        _chosen = before


def current() -> str:
    """`zh` or `en`."""
    return _chosen


def t(text: str, **values: object) -> str:
    """The text in the language of the reader; English where there is no translation. `values` fill its `{names}`."""
    if _chosen == ENGLISH:
        return text.format(**values) if values else text
    if values:
        form = _catalogue().exact.get(text, text)
        return placed(form, {name: t(str(value)) for name, value in values.items()})
    found = translated(str(text))
    if found is None and "\n" in text:
        return "\n".join(map(t, text.split("\n")))
    return text if found is None else found


@functools.lru_cache(maxsize=4096)
def translated(text: str, depth: int = _DEPTH) -> str | None:
    """The Chinese text with the same spaces around it; None where the catalogue does not have it."""
    core = text.strip().removeprefix("- ").lstrip()
    if not core or not depth:
        return None
    catalogue = _catalogue()
    found = catalogue.exact.get(core) or catalogue.exact.get(f"{core}.", "").removesuffix("。") or None
    if found is None:
        fits = (row.fill(core, depth) for row in catalogue.templates if row.mark in core)
        found = _listed(core, _NUMBERED, depth) or next(filter(None, fits), None) or _listed(core, _COMMA, depth)
    if found is None:
        return None
    begin = text.index(core)
    return text[:begin] + found + text[begin + len(core) :]


def _listed(text: str, commas: re.Pattern[str], depth: int) -> str | None:
    """A list of any length: each item by itself."""
    items = commas.split(text)
    said = [translated(item, depth - 1) for item in items] if len(items) > 2 else []
    if not any(said) or any(one is None and _is_prose(item) for one, item in zip(said, items)):
        return None
    return "、".join(item if one is None else one for one, item in zip(said, items))


def whole(text: str) -> str | None:
    """The Chinese of an entry without places for values; None where the catalogue does not have it."""
    return _catalogue().exact.get(text)


class Template:
    """An entry with places for values."""

    def __init__(self, english: str, chinese: str) -> None:
        self.chinese = chinese
        self.parts = PLACE.split(english)
        own = self.parts[::2]
        self.mark = max(own, key=len)
        self.letters = sum(letter.isalpha() for part in own for letter in part)

    @functools.cached_property
    def pattern(self) -> re.Pattern[str]:
        own, text = self.parts[::2], re.escape(self.parts[0])
        for at, after in enumerate(own[1:]):
            # What stands in backticks is a name and ends with them.
            text += (r"([^`\n]*?)" if self._is_code(at) else "(.*?)") + re.escape(after)
        return re.compile(text, re.S if "\n" in text else 0)

    def _is_code(self, at: int) -> bool:
        """Does it stand inside backticks?"""
        return sum(part.count("`") for part in self.parts[: 2 * at + 1 : 2]) % 2 == 1

    def _is_quote(self, at: int) -> bool:
        """Does it end with words that may be of others, such as the system's?"""
        return self.letters >= _QUOTES and 2 * at + 3 == len(self.parts) and self.parts[2 * at].endswith(": ")

    @functools.cached_property
    def _counts(self) -> bool:
        """Is it a number with its noun, such as "{0} files"? Then the value is one word."""
        return len(self.parts) == 3 and not self.parts[0] and self.letters < _QUOTES

    def _breaks(self, at: int, value: str) -> bool:
        """Would a value without a translation make a sentence of two languages?"""
        if self._is_code(at) or self._is_quote(at):
            return False
        return _is_prose(value) or (self.letters < _OWN and bool(_PLAIN.fullmatch(value)))

    def fill(self, text: str, depth: int) -> str | None:
        """The Chinese sentence with the values of this English one; None where it is another sentence."""
        match = self.pattern.fullmatch(text)
        if match is None or (self.letters < _QUOTES and text.startswith("jumar ")):
            return None
        values: dict[str, str] = {}
        hits = 0
        for at, value in enumerate(match.groups()):
            if self._counts and not _TOKEN.fullmatch(value):
                return None
            said = None if self._is_code(at) else translated(value, depth - 1)
            if said is None and self._breaks(at, value):
                return None
            hits += said is not None
            values.setdefault(self.parts[2 * at + 1], _LIST.sub("`、`", value) if said is None else said)
        if not self.letters and not hits:
            return None
        return placed(self.chinese, values)


def placed(form: str, values: Mapping[str, str]) -> str:
    """The Chinese form with its values, set as Chinese is where they meet."""
    said = ""
    for at, part in enumerate(PLACE.split(form)):
        said = meet(said, values.get(part, f"{{{part}}}") if at % 2 else part)
    return said


def meet(left: str, right: str) -> str:
    """Two parts of a line: a space between Chinese and Latin, none between Chinese and around its marks."""
    before, after = left.rstrip(" ")[-1:], right.lstrip(" ")[:1]
    spaces = len(left) - len(left.rstrip(" ")) + len(right) - len(right.lstrip(" "))
    if spaces > 1 or not before or not after:
        return left + right
    if before in _MARKS or after in _MARKS or (_is_han(before) and _is_han(after)):
        return left.rstrip(" ") + right.lstrip(" ")
    needs = (_is_han(before) and _is_latin(after)) or (_is_latin(before) and _is_han(after))
    return f"{left} {right}" if needs and not spaces else left + right


def _is_han(letter: str) -> bool:
    return "\u4e00" <= letter <= "\u9fff"


def _is_latin(letter: str) -> bool:
    return letter == "`" or (letter.isascii() and letter.isalnum())


def _is_prose(value: str) -> bool:
    """English words, which would break a Chinese sentence; names, numbers, code and commands would not."""
    plain = _CODE.sub("", value)
    return len(value.split()) > 1 and bool(_WORD.search(plain)) and not _COMMAND.match(value)


class Catalogue(NamedTuple):
    """All entries: whole texts, and templates with the most words of their own first."""

    exact: dict[str, str]
    templates: list[Template]


@functools.cache
def _catalogue() -> Catalogue:
    exact: dict[str, str] = {}
    for path in sorted(FOLDER.glob("*.po")):
        exact.update(entries(path.read_text(encoding="utf-8")))
    templates = [Template(*row) for row in exact.items() if "{" in row[0] and PLACE.search(row[0])]
    return Catalogue(exact, sorted(templates, key=lambda row: -row.letters))


def entries(text: str) -> dict[str, str]:
    """The translated entries of a `.po` file, which has one line for each text."""
    return {_plain(english): _plain(chinese) for english, chinese in ENTRY.findall(text)}


def _plain(text: str) -> str:
    return _ESCAPE.sub(lambda match: "\n" if match[1] == "n" else match[1], text) if "\\" in text else text


def width(text: str) -> int:
    """Columns that a terminal needs: a Chinese character takes two."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in text
    )


def pad(text: str, columns: int, *, right: bool = False) -> str:
    """The text with spaces up to this width, behind it or before it."""
    spaces = " " * (columns - width(text))
    return spaces + text if right else text + spaces
