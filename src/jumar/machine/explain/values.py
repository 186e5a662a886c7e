"""What a line says, by the names of its row's groups, and what follows from it: divisors, owners, readable symbols."""

from __future__ import annotations

import re

from jumar.core.compat import stdlib_module_names
from jumar.machine.explain import symbols, words
from jumar.machine.explain.result import Frame

_MOST = 1_000_000
"""Numbers above it are no sizes of a job."""
_PACKAGE = re.compile(
    r"(?:site|dist)-packages/([\w.-]+?)(?:/|\.py|$)"
    r"|/(?:vllm|sgl)-workspace/[\w.-]+/(?:python/)?([\w.-]+)/"  # where published images keep their sources
    r"|/([\w.-]+)/src/"
)
_PART = re.compile(r"/([A-Za-z_][\w-]*)/(?:[\w-]+/)*[\w-]+\.py$")
_PREFIX = re.compile(r"^.*?(?:\]:?|\))\s{2,}(?=\S)|^\s+")
"""What a logger or a launcher writes before a line."""
_STANDARD = re.compile(r"/lib(?:64)?/python[\d.]*/(?!(?:site|dist)-packages/)|python\d+\.zip/|^<")
"""A file of Python itself."""


def of(match: re.Match[str]) -> dict[str, str]:
    """The named groups of a match as words."""
    found = {name: text for name, text in match.groupdict().items() if text and text.strip()}
    return {name: _value(match, name, text) for name, text in found.items()}


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
        first = values["module"].partition(".")[0]
        more["standard" if first in stdlib_module_names() else "package"] = first
    if _is_own_symbol(more.get("symbol", ""), values.get("library", "")):
        more["own"] = "yes"
    more["owner"] = owner(frames)
    more["source"] = words.plain(_PREFIX.sub("", above)) if frames else ""
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
    if _STANDARD.search(deepest.file):
        return "the program"
    found = _PACKAGE.search(deepest.file) or (None if deepest.is_own else _PART.search(deepest.file))
    name = next((part for part in found.groups() if part), "") if found else ""
    return f"`{name}`" if name else "the program"


def _value(match: re.Match[str], name: str, text: str) -> str:
    """A group as words: `words` and `sentence` become headlines, the latter from where its sentence begins."""
    if name == "sentence":
        return words.sentence(match.string, match.start(name), match.end(name))
    return words.headline(text) if name == "words" else words.plain(text)


def _is_own_symbol(symbol: str, library: str) -> bool:
    """Does the name of a missing symbol belong to the library that needs it, by its first part?"""
    first = symbol.partition("::")[0].lower().strip("_")
    names = re.split(r"[/.]", library.lower())
    parts = {re.sub(r"^lib|_(?:c|ext|ops|cpp)$|^_", "", name) for name in names if name}
    alike = {"c10_npu": "torch_npu", "at_npu": "torch_npu", "c10": "torch", "at": "torch"}
    return "::" in symbol and len(first) > 1 and (first in parts or alike.get(first, "-") in parts - {"torch"})
