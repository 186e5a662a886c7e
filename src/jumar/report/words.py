"""Fixed words of the pages: the one place that a catalogue of another language is asked."""

from __future__ import annotations

LANG = "en"
"""The `lang` attribute of the pages."""


def t(text: str, **values: object) -> str:
    """The text in the language of the page, with its values filled in."""
    return text.format(**values) if values else text
