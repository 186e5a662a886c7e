"""What one run of a case left: its state, facts of every result, the error. Plain values, so that they travel."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

DONE, ERROR, HANG, CRASH, MEMORY, NO_START = "done", "error", "hang", "crash", "memory", "no start"
_CODE = re.compile(r"\b(?:ERR\d{5}|E[A-Z]\d{4}|[15]0\d{4})\b")
_LIBRARY = re.compile(r"(lib[\w+.-]*\.so[\d.]*)['\"]?(?::| (?:cannot|could not|not found|is missing))")
_VARIES = re.compile(r"0x[0-9a-fA-F]+|(?:/[\w.+-]+){2,}|\d+")
LONGEST = 600
_CAUSES = 5
"""torch packs the error of an import into one of its own: the library is named in what it was raised from."""


class Outcome(NamedTuple):
    state: str
    results: Mapping[str, Mapping[str, Any]] = {}
    """By name: `dtype`, `shape`, `stride`, `device`, `format` of a tensor, or `value` of a fact."""
    error: Mapping[str, str] = {}
    """`type`, `code`, `words`, `library`."""
    seconds: float = 0.0
    """Of the second run: the first one may compile kernels."""
    repeated: float = 0.0
    """How far the second run was from the first, in floors; 0 where they are equal."""
    fallbacks: tuple[str, ...] = ()
    """Operators that torch_npu ran on the CPU."""
    refused: tuple[str, ...] = ()
    """What the emulator's own list does not cover."""

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> Outcome:
        known = {name: fields[name] for name in cls._fields if name in fields}
        return cls(**{**known, **{name: tuple(known.get(name, ())) for name in ("fallbacks", "refused")}})


def described(error: BaseException) -> dict[str, str]:
    """An error, without what is another one in every run."""
    texts, cause = [str(error)], error.__cause__ or error.__context__
    while cause is not None and len(texts) < _CAUSES:
        texts.append(str(cause))
        cause = cause.__cause__ or cause.__context__
    return {"type": type(error).__name__, **words("\n".join(texts))}


def words(text: str) -> dict[str, str]:
    """Code, library and first line of a message."""
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    code, library = _CODE.search(text), _LIBRARY.search(text)
    return {
        "code": code[0] if code else "",
        "library": library[1] if library else "",
        "words": _VARIES.sub("#", first)[:LONGEST],
        "said": text.strip()[:LONGEST],
    }
