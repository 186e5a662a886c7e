"""What a line says, by the names of its row's groups, and what follows from it: divisors, owners, readable symbols."""

from __future__ import annotations

import re

from jumar.machine.explain import symbols
from jumar.machine.explain.result import Frame

_LONGEST = 200
"""Characters kept of a value."""
_MOST = 1_000_000
"""Numbers above it are no sizes of a job."""
_PACKAGE = re.compile(r"(?:site|dist)-packages/([\w.-]+?)(?:/|\.py|$)|/([\w.-]+)/(?:\1|src)/")
_PART = re.compile(r"/([A-Za-z_][\w-]*)/(?:[\w-]+/)*[\w-]+\.py$")
_PREFIX = re.compile(r"^.*?(?:\]:?|\))\s{2,}(?=\S)|^\s+")
"""What a logger or a launcher writes before a line."""
_NOISE = re.compile(r"\s+|[`\x00-\x1f]")


def of(match: re.Match[str]) -> dict[str, str]:
    """The named groups of a match as words."""
    return {name: _plain(text) for name, text in match.groupdict().items() if text and text.strip()}


def derived(values: dict[str, str], frames: tuple[Frame, ...], above: str) -> dict[str, str]:
    """The same with what can be computed from it, from the frames of the traceback and from the line above."""
    more = dict(values)
    if values.get("whole", "").isdecimal():
        more["divisors"] = divisors(int(values["whole"]))
    if "symbol" in values:
        more["symbol"] = symbols.readable(values["symbol"])
    if "library" in values:
        more["library"] = values["library"].rpartition("/")[2]
    if "module" in values:
        more["package"] = values["module"].partition(".")[0]
    more["owner"] = owner(frames)
    more["source"] = _plain(_PREFIX.sub("", above)) if frames else ""
    more["function"] = more.get("function") or (frames[-1].function if frames else "")
    return more


def divisors(whole: int) -> str:
    """Numbers of cards that divide it; empty for what cannot be a size."""
    if not 0 < whole <= _MOST:
        return ""
    return ", ".join(str(part) for part in range(1, min(whole, 128) + 1) if whole % part == 0)


def owner(frames: tuple[Frame, ...]) -> str:
    """Who raised an exception: the package of the deepest frame, or `the program`."""
    if not frames:
        return "the program"
    deepest = frames[-1]
    found = _PACKAGE.search(deepest.file) or (None if deepest.is_own else _PART.search(deepest.file))
    name = next((part for part in found.groups() if part), "") if found else ""
    return f"`{name}`" if name else "the program"


def _plain(text: str) -> str:
    words = _NOISE.sub(" ", text).strip().rstrip(".,:;")
    return words[:_LONGEST] + ("…" if len(words) > _LONGEST else "")
