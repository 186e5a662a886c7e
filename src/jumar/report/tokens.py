"""Colours of the pages, light and dark: the only place with colour values; a test computes their contrast."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple


class Token(NamedTuple):
    """One colour in both themes."""

    light: str
    dark: str


TOKENS = {
    "bg": Token("#f6f7f9", "#10151d"),
    "card": Token("#ffffff", "#182029"),
    "code": Token("#f8fafc", "#131a23"),
    "line": Token("#dde2ea", "#2b3644"),
    "edge": Token("#7d8898", "#6f7d90"),
    "ink": Token("#1b2330", "#e6ebf2"),
    "soft": Token("#505b6c", "#a3afbf"),
    "link": Token("#1f5fbf", "#8abaff"),
    "green": Token("#126b3d", "#58cf96"),
    "amber": Token("#8a5000", "#f0b14a"),
    "red": Token("#b3262f", "#ff8d93"),
    "violet": Token("#5f43b8", "#bcaaff"),
    "blue": Token("#1f5fbf", "#8abaff"),
    "teal": Token("#0b6660", "#5ad1c8"),
    "grey": Token("#566172", "#a3afbf"),
    "add": Token("#e3f6ea", "#12301f"),
    "add-mark": Token("#a8e3bf", "#1f6b3f"),
    "del": Token("#fdeaea", "#3a1a1e"),
    "del-mark": Token("#f7bdbf", "#7d2b33"),
}
HUES = ("green", "amber", "red", "violet", "blue", "teal", "grey")
"""Colours with a meaning: classes `c-<hue>` set `--c`, and everything that has a colour reads that."""
TINT = 9
"""Per cent of a hue in what is behind a finding, class `tint`."""
GROUNDS = ("bg", "card", "code")
TEXTS = ("ink", "soft", "link", *HUES)
PAIRS = (
    *((text, ground) for text in TEXTS for ground in GROUNDS),
    *(("ink", ground) for ground in ("add", "add-mark", "del", "del-mark")),
    ("green", "add"), ("red", "del"),
    *(("card", hue) for hue in HUES),
)  # fmt: skip
"""What stands on what; `card` on a hue is the number inside a bar."""
PAPER = {"bg": "#ffffff", "card": "#ffffff", "code": "#ffffff", "ink": "#000000", "soft": "#444444", "line": "#bbbbbb"}
"""What print changes in the light theme."""


def css() -> str:
    """The colours as variables: the system's theme, and the one that a reader chose."""
    return "\n".join(_rules())


def _rules() -> Iterator[str]:
    light, dark = ("".join(f"--{name}: {getattr(pair, side)}; " for name, pair in TOKENS.items())
                   for side in Token._fields)  # fmt: skip
    paper = "".join(f"--{name}: {value}; " for name, value in PAPER.items())
    yield f":root {{ color-scheme: light; {light}}}"
    yield (
        '@media screen and (prefers-color-scheme: dark) { :root:not([data-theme="light"]) '
        f"{{ color-scheme: dark; {dark}}} }}"
    )
    yield f'@media screen {{ :root[data-theme="dark"] {{ color-scheme: dark; {dark}}} }}'
    yield f"@media print {{ :root {{ {paper}}} }}"
    yield f".tint {{ background: color-mix(in srgb, var(--c) {TINT}%, var(--card)); }}"
    yield " ".join(f".c-{hue} {{ --c: var(--{hue}); }}" for hue in HUES)
