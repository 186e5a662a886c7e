"""The facts behind docs/results are complete: two languages, whole rows, no more passed than counted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jumar.core.compat import tomllib

DATA = sorted((Path(__file__).parents[1] / "docs" / "results" / "data").glob("*.toml"))


def _tables(value: Any) -> Iterator[dict[str, Any]]:
    """Every text in two languages below a value."""
    if isinstance(value, dict):
        if {"en", "zh"} & set(value):
            yield value
            return
        value = list(value.values())
    for item in value if isinstance(value, list) else ():
        yield from _tables(item)


@pytest.mark.parametrize("path", DATA, ids=lambda path: path.stem)
def test_facts_are_whole(path: Path) -> None:
    page = tomllib.loads(path.read_text(encoding="utf-8"))
    texts = list(_tables(page))
    assert texts and all(set(text) == {"en", "zh"} and text["en"] and text["zh"] for text in texts)
    for section in page["section"]:
        assert all(len(row) == len(section["columns"]) for row in section.get("rows", ()))
        assert all(0 <= row["passed"] <= row["total"] for row in section.get("judge", ()))
