"""Renders the pages under docs/results, in English and Chinese, from docs/results/data and the table of versions.

A text is a string, the same in both languages, or a table with `en` and `zh`. Shares of passed cases are computed here.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import results_arm
import results_ecosystem
import results_mindspore
import results_parallel
import results_versions

DATA = Path(__file__).parents[1] / "docs" / "results" / "data"
NOTE = "<!-- written by tools/generate.py from docs/results/data: do not edit -->"
LANGUAGES = {"en": "", "zh": ".zh-CN"}
WORDS = {
    "en": {"date": "Date", "command": "Command", "machine": "Machine", "versions": "Versions"},
    "zh": {"date": "日期", "command": "命令", "machine": "机器", "versions": "版本"},
}
JUDGED = {
    "en": ["judge", "passed", "of", "share", "not counted"],
    "zh": ["检验", "通过", "总数", "比例", "不计入"],
}


def generated() -> dict[str, str]:
    """The text of every page by its path relative to docs/results."""
    pages = {path.stem: tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(DATA.glob("*.toml"))}
    pages["mindspore"]["section"][1:1] = results_mindspore.sections()
    pages["parallel"]["section"][3:3] = results_parallel.sections()
    pages["ecosystem"] = results_ecosystem.page()
    pages["versions"] = results_versions.page()
    pages["arm"] = results_arm.page()
    return {
        f"{name}{suffix}.md": _page(page, name, language)
        for name, page in pages.items()
        for language, suffix in LANGUAGES.items()
    }


def _page(page: dict[str, Any], name: str, language: str) -> str:
    other = f"[中文]({name}.zh-CN.md)" if language == "en" else f"[English]({name}.md)"
    parts = [f"# {_text(page['title'], language)}", NOTE, other, _text(page["about"], language)]
    for section in page["section"]:
        parts += [f"## {_text(section['title'], language)}", *_section(section, language)]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _section(section: dict[str, Any], language: str) -> Iterator[str]:
    if "about" in section:
        yield _text(section["about"], language)
    facts = [(word, section[key]) for key, word in WORDS[language].items() if key in section]
    if facts:
        yield "\n".join(f"- {word}: {_text(value, language)}" for word, value in facts)
    if "judge" in section:
        yield _table(JUDGED[language], [_judged(row, language) for row in section["judge"]])
    if "rows" in section:
        rows = [[_text(cell, language) for cell in row] for row in section["rows"]]
        yield _table([_text(column, language) for column in section["columns"]], rows)
    if "after" in section:
        yield _text(section["after"], language)


def _judged(row: dict[str, Any], language: str) -> list[str]:
    passed, total = row["passed"], row["total"]
    share = f"{100 * passed / total:.1f} %"
    return [_text(row["what"], language), f"{passed:,}", f"{total:,}", share, _text(row.get("skipped", ""), language)]


def _table(columns: list[str], rows: list[list[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _text(value: Any, language: str) -> str:
    return str(value[language] if isinstance(value, dict) else value)
