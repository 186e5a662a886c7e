"""Particular failures with the cause that a thread or page gives; data/error_threads.toml says how rows are written."""

from __future__ import annotations

import re
from typing import Any

from jumar.tables.load import table


def rows() -> dict[str, dict[str, object]]:
    """The rows in the form of data/errors.toml: the first word is on the line, all others stand near it."""
    return {id_: _row(row) for id_, row in table("error_threads.toml")["threads"].items()}


def _row(row: dict[str, Any]) -> dict[str, object]:
    words = [[word] if isinstance(word, str) else word for word in row["words"]]
    return {
        "category": row.get("category", "thread"),
        "level": "error",
        "match": _any(words[0]),
        "needles": words[0],
        "near": _all(words[1:]),
        "certain": row.get("certain", False),
        "what": row["what"],
        "why": row["why"],
        "do": row["do"],
        "example": "\n".join(word[0] for word in words),
        "source": row["source"],
        "is_thread": True,
    }


def _all(words: list[list[str]]) -> str:
    """A pattern for texts that hold one of each list, in any order."""
    return r"\A" + "".join(rf"(?=[\s\S]*?(?:{_any(word)}))" for word in words) if words else ""


def _any(word: list[str]) -> str:
    return "|".join(map(re.escape, word))
