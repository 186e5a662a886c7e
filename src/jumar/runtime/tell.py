"""Lines of ours from inside a user's program or test run: on stderr, in the language of the reader."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from jumar.core import lang
from jumar.core.printable import printable
from jumar.runtime import variables


def tell(text: str) -> None:
    """`jumar: …` on stderr, at once."""
    sys.stderr.write(f"{printable(said(f'jumar: {text}'))}\n")
    sys.stderr.flush()


def said(text: str) -> str:
    """The text in the language of the reader."""
    with reader():
        return lang.t(text)


@contextmanager
def reader() -> Iterator[None]:
    """What is shown inside is in the language of `JUMAR_LANG`, else of the locale."""
    with lang.chosen(language()):
        yield


def language(asked: str | None = None) -> str:
    """The language that is asked for or set; English where the output has no Chinese."""
    said = variables.LANG.text()
    found = asked or (said if said in lang.LANGUAGES else "") or lang.of_locale(os.environ)
    return found if all(map(_can_show, (sys.stdout, sys.stderr))) else lang.ENGLISH


def _can_show(stream: object) -> bool:
    """Has its encoding Chinese characters? Escaped ones help nobody."""
    try:
        "中文".encode(getattr(stream, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
