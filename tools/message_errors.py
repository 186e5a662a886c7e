"""The texts of `jumar explain`: the words of the error tables, remarks of their sources, and what codes stand for."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any

import message_sources
from jumar.core import tables
from jumar.tables import error_words
from jumar.tables.load import table

_WORDS = {"what", "why"}
_STEPS = {"do", "collect"}
_CODE = re.compile(r"""`[^`]*`|"[^"]*"|(?<!\w)'[^']*'|\$\([^)]*\)|\S+://\S+|\bfor \w+ in .*?; do\b|\bdone\b""")
_COMMAND = re.compile(
    r"""(?:sudo\ )?(?:
        apt(?:-get)?|cat|cd|chmod|conda|df|dmesg|docker|dpkg|du|echo|export|file|find|free|fuser|gcc|gdb|git|grep|
        groupadd|gst-inspect\S*|hccn_tool|id|ip|ipmitool|jumar|kubectl|ldd|ls|lsmod|lspci|mkdir|newgrp|npu-smi|pip3?|
        python3?|rm|source|ss|sysctl|tail|tr|uname|ulimit|unset|useradd|usermod|xargs|yum
      )(?=\s|$) | (?:sudo\ )?\.?/ | [\w.]+\ ?=\ ?\S | -[-\w] | [\w.]+\( | logs/ | def\  | [A-Z_]+,""",
    re.X,
)
"""A command, an option, a setting or a call."""
_SAID = re.compile(
    r"(?:^|[\s(])(?:the|an?|of|or|and|is|are|that|which|this|with|without|to|as|in|on|at|by|for|not|no|only|before|after|"
    r"than|then|if|where|when|it|its|them|more|less|smaller|larger|first|names|lists|takes|needs|below|itself|prints|one|too|may)(?=[\s,;:.?)]|$)"
)
"""Words that sentences have and commands do not."""
_REMARK = re.compile(r"#\s+\w|<\w+ [\w ]+>|(?<= )\([\w-]+,? [a-z]+")
_NAME = re.compile(
    r"https?://\S+|[\w@.-]+/[\w@.#/-]+|\b\d{4}-\d\d-\d\d\b|\bv?\d+(?:\.\w+)+|\b\d{2,}\b|#\d+|\b\w+_\w+(?:\.\w+)?\b"
)
_PLACE = re.compile(r"\{\w+\}")
_PLAIN = re.compile(r"(?<![\w./-])(?!(?:csrc|fuser|mindspore|torch|umn)\b)[a-z]{3,}(?![\w./-])")
"""A word that is no name."""


def texts() -> Iterator[str]:
    """Every text, in the order of the files."""
    for path in sorted(message_sources.SOURCES.glob("data/error*.toml")):
        content = tables.loads(path.read_bytes())
        steps = set(message_sources.of_table(content, _STEPS))
        for text in message_sources.of_table(content, _WORDS | _STEPS):
            if is_step(text) if text in steps else _has_letters(text):
                yield text
        yield from _remarks(content)
    for name in ("environment.toml", "npu_environment.toml"):
        yield from _remarks({"source": list(table(name)["sources"].values())})
    codes = table("error_codes.json")
    yield from (*codes["acl_first_digit"].values(), *codes["cann_modules"].values())


def _has_letters(text: str) -> bool:
    return any(map(str.isalpha, _PLACE.sub("", text)))


def is_step(text: str) -> bool:
    """Has a step words beside its commands?"""
    pieces = filter(None, map(str.strip, re.split(r"; |\||&&", _CODE.sub(" ", text))))
    return bool(_REMARK.search(text)) or has_words(text) or not all(map(_COMMAND.match, pieces))


def has_words(text: str) -> bool:
    """Has it words of English sentences outside of code?"""
    return bool(_SAID.search(_CODE.sub(" ", text)))


def _remarks(content: Any) -> Iterator[str]:
    """The words of sources, with places for the names of pages, packages and versions."""
    for source in message_sources.of_table(content, {"source"}):
        for piece in error_words.source_pieces(source):
            numbers = itertools.count()
            form = _NAME.sub(lambda _: f"{{{next(numbers)}}}", piece)  # noqa: B023
            if _PLAIN.search(form) or has_words(form):
                yield form
