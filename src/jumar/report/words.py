"""Fixed words of the pages. A page is made in English, for `jumar report` and programs; what people see is translated.

`t` marks a text as ours and fills its places; `shown` is called where the text becomes HTML, and translates it there.
"""

from __future__ import annotations

from markupsafe import Markup, escape

from jumar.core import lang

translate = lang.t


class Said(str):
    """An English text of ours: shown in the language of the reader, even if it is one word."""

    parts: tuple[str, ...] = ()
    """What it was joined from, each translated by itself."""

    def __html__(self) -> Markup:
        """What templates and `Markup.format` show of it."""
        return escape(shown(self))


def t(text: str, **values: object) -> Said:
    """The English text with its values; `shown` translates it."""
    return Said(text.format(**values) if values else text)


def joined(*parts: str) -> Said:
    """A name and what is said about it; the name stays."""
    text = Said(": ".join(parts))
    text.parts = parts
    return text


def shown(text: str) -> str:
    """The text for the reader. A single word that `t` did not mark is a name, and stays."""
    if isinstance(text, Said) and text.parts:
        return (": " if lang.current() == lang.ENGLISH else "：").join(map(shown, text.parts))
    return translate(str(text)) if isinstance(text, Said) or " " in str(text) else text


def language() -> str:
    """The `lang` attribute of the pages."""
    return "zh-CN" if lang.current() == lang.CHINESE else "en"
