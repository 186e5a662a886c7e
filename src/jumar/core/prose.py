"""The words of a Markdown page, block by block: what stands outside its code.

A page about a rule is mostly code that tests run, so its Chinese form is no second file: each heading, paragraph, list
item and table cell is a text of a catalogue, as messages are, and the page is put together again around them.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from jumar.core import lang

FOLDER = lang.FOLDER / "docs"
"""The catalogues of the pages, one for each folder of `docs`; they are read only if a page is shown."""
_LINE = re.compile(r".*\n|.+")
_FENCE = re.compile(r"\s*(`{3,})")
_ALONE = re.compile(r"\s*$|#|\||<!--")
"""A line that belongs to no paragraph: an empty one, a heading, a row of a table, a remark."""
_ITEM = re.compile(r"\s*(?:[-*]|\d+\.) +")
_MARKS = re.compile(rf"{_ITEM.pattern}|#+ +|\s*")
_CODE_INDENT = " " * 4
_CELL = re.compile(r"(?<!\\)(\|)")
_NAME = re.compile(r"[A-Z]{2}\d{3} [a-z0-9-]+|jumar(?: [a-z-]+)*|\[[^]]*\]\(https?:[^)]*\), [^“]*“.*”")
"""What every language shares: the title of a rule or finding, a command, a quotation with its address."""
_NO_WORDS = re.compile(r"`[^`]*`|\[[^\] ]*\]\([^)]*\)|\]\([^)]*\)|<[^>]*>|https?://\S+")
_WORD = re.compile(r"(?<![\w./-])[A-Za-z]?[a-z]{2,}(?![\w/-]|\.\w)")
_CODE = r"`[^`]*`|\]\([^)]*\)"
_DIGITS = r"(?<![\w.-])\d+(?:[.,:-]\d+)*(?!\w)"
_VALUE = re.compile(rf"((?:(?:`[^`]*`|{_DIGITS}), ){{11,}}(?:`[^`]*`|{_DIGITS}))|{_CODE}|({_DIGITS})")
"""A long list of names or versions, or a number."""
_PLACE = re.compile(rf"{_CODE}|\{{(\d+)\}}")


class Block(NamedTuple):
    """A part of a page: marks such as `- `, then text. Together the parts are the page."""

    mark: str
    text: str
    words: str = ""
    """What the text says, in one line; empty for code, marks, names and numbers."""


def blocks(page: str) -> Iterator[Block]:
    """All parts of a page in order."""
    held: list[str] = []
    fence = ""
    for line in _LINE.findall(page):
        tick = _FENCE.match(line)
        if not (fence or tick or _ALONE.match(line)):
            if _ITEM.match(line):
                yield from _said(held)
                held = []
            held.append(line)
            continue
        yield from _said(held)
        held = []
        if fence or tick:
            yield Block("", line)
            if tick and (not fence or line.strip() == fence):
                fence = "" if fence else tick[1]
        elif line.startswith("|"):
            yield from (block for cell in _CELL.split(line) for block in _said([cell]))
        else:
            yield from _said([line])
    yield from _said(held)


def _said(lines: list[str]) -> Iterator[Block]:
    """The lines of one paragraph, item or heading, or one cell, and the space after it."""
    whole = "".join(lines)
    text = whole.rstrip()
    marks = _MARKS.match(text)
    assert marks is not None
    words = "" if marks[0] == _CODE_INDENT else " ".join(text[marks.end() :].split())
    if text:
        yield Block(marks[0], text[marks.end() :], words if has_words(words) else "")
    if whole != text:
        yield Block("", whole[len(text) :])


def has_words(text: str) -> bool:
    """Does it say something beside code, names of files and ids?"""
    return not text.startswith("<!--") and not _NAME.fullmatch(text) and bool(_WORD.search(_NO_WORDS.sub("", text)))


def said_by(page: str) -> Iterator[str]:
    """What the page says, one text for each block."""
    return (block.words for block in blocks(page) if block.words)


def retold(page: str, say: Callable[[str], str | None]) -> str:
    """The page with the words that `say` has for each text; a text that it has none for stays."""
    told = ((block, say(block.words) if block.words else None) for block in blocks(page))
    return "".join(block.mark + (block.text if words is None else words) for block, words in told)


def shown(page: str) -> str:
    """The page in the language of the reader."""
    return page if lang.current() == lang.ENGLISH else retold(page, chinese)


def chinese(words: str) -> str | None:
    """The Chinese for a text of a page: its own, or that of a message. One word may mean much, so it needs its own."""
    found = _catalogue().get(numbered(words))
    if found is None:
        return lang.whole(words) if " " in words else None
    values = [value for match in _VALUE.finditer(words) if (value := match[1] or match[2])]
    return _PLACE.sub(lambda place: values[int(place[1])] if place[1] else place[0], found)


def numbered(words: str) -> str:
    """The text with `{0}`, `{1}` for numbers and long lists, which change more often than what is said about them."""
    counter = itertools.count()
    return _VALUE.sub(lambda value: f"{{{next(counter)}}}" if value[1] or value[2] else value[0], words)


@functools.cache
def _catalogue() -> dict[str, str]:
    found: dict[str, str] = {}
    for path in sorted(FOLDER.glob("*.po")):
        found.update(lang.entries(path.read_text(encoding="utf-8")))
    return found
