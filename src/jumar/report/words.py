"""Fixed words of the pages, in the language of the reader."""

from __future__ import annotations

from jumar.core import lang

t = lang.t


def language() -> str:
    """The `lang` attribute of the pages."""
    return "zh-CN" if lang.current() == lang.CHINESE else "en"
