"""The page is the test: every section of `docs/rules` with code blocks runs here, with the guards of all rules.

A section holds `before` and `after`, or `unchanged`; a `findings` block lists what must be said, a line each:
`LINE ID state`. Options stand behind `before` or `unchanged`: `to=agnostic`, `unsafe`, `torch=2.7.1`, `file=a.yaml`,
`cloud` (the rules of `jumar cloud adapt`, the file is the boot file).
"""

from __future__ import annotations

import ast
import codecs
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from jumar.core.finding import Safety
from jumar.core.source import Source
from jumar.migrate.project import migrate_bytes
from jumar.migrate.result import FileResult
from jumar.migrate.settings import Cloud, Settings, Style

PAGES = Path(__file__).parents[2] / "docs" / "rules"
_BLOCK = re.compile(r"^```(\w+) (before|after|unchanged|findings)([^\n]*)\n(.*?)^```$", re.M | re.S)
FILES = {
    "python": "page.py",
    "shell": "page.sh",
    "yaml": "page.yaml",
    "json": "page.json",
    "toml": "page.toml",
    "ini": "page.cfg",
    "dockerfile": "Dockerfile",
    "requirements": "requirements.txt",
    "makefile": "Makefile",
    "ipynb": "page.ipynb",
    "cuda": "page.cu",
    "cpp": "page.cpp",
}


class Case(NamedTuple):
    page: Path
    title: str
    file: str
    before: str
    after: str
    findings: str | None
    settings: Settings

    @property
    def id(self) -> str:
        return f"{self.page.stem}: {self.title}"


def _options(words: str) -> tuple[Settings, str | None]:
    given: dict[str, object] = {}
    for word in words.split():
        key, _, value = word.partition("=")
        given[key] = Style(value) if key == "to" else (value or True)
    name = given.pop("file", None)
    if given.pop("cloud", False):
        given["cloud"] = Cloud(str(name or FILES["python"]))
    return Settings(**given), str(name) if name else None  # type: ignore[arg-type]


def cases() -> list[Case]:
    found = []
    for page in sorted(PAGES.rglob("*.md")):
        for section in re.split(r"^## ", page.read_text(), flags=re.M)[1:]:
            title = section.partition("\n")[0]
            blocks = {kind: (language, words, text) for language, kind, words, text in _BLOCK.findall(section)}
            if not blocks:
                continue
            kinds = sorted(kind for kind in blocks if kind != "findings")
            assert kinds in (["unchanged"], ["after", "before"]), f"{page}: section `{title}` has blocks {kinds}"
            language, words, before = blocks.get("before") or blocks["unchanged"]
            after = blocks["after"][2] if "after" in blocks else before
            said = blocks["findings"][2] if "findings" in blocks else None
            settings, name = _options(words)
            found.append(Case(page, title, name or FILES[language], before, after, said, settings))
    return found


def run(case: Case, data: bytes) -> FileResult:
    result = migrate_bytes(case.file, data, case.settings)
    assert result is not None, f"no language for {case.file}"
    return result


CASES = cases()
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)


@every_case
def test_page_section(case: Case) -> None:
    result = run(case, case.before.encode())
    assert result.after.decode() == case.after
    allowed = {Safety.SAFE, Safety.ASK} if case.settings.unsafe else {Safety.SAFE}
    edited = [finding for finding in result.findings if finding.edits and finding.safety in allowed]
    assert bool(edited) == (case.before != case.after), "declared safety and observed change differ"
    if case.findings is not None:
        said = {f"{finding.where.line} {finding.id} {finding.state}" for finding in result.findings if finding.where}
        for line in case.findings.splitlines():
            assert line in said, f"{line!r} is not among {sorted(said)}"


@every_case
def test_result_is_stable_and_parses(case: Case) -> None:
    if case.file.endswith(".py") and case.before != case.after:
        ast.parse(case.after)
    assert run(case, case.after.encode()).after.decode() == case.after


@every_case
def test_crlf_and_bom_twins(case: Case) -> None:
    before, after = (text.replace("\n", "\r\n").encode() for text in (case.before, case.after))
    assert run(case, before).after == after
    assert run(case, codecs.BOM_UTF8 + before).after == codecs.BOM_UTF8 + after


@every_case
def test_bytes_outside_the_edits_are_equal(case: Case) -> None:
    """Where the rules met no conflict, the edits of the findings alone explain the whole difference."""
    source = Source.from_bytes(case.file, case.before.encode(), python=case.file.endswith(".py"))
    result = run(case, case.before.encode())
    touched = {
        line
        for finding in result.findings
        for edit in finding.edits
        for line in range(source.line_of(edit.start), source.line_of(edit.end) + 1)
    }
    kept = [line for number, line in enumerate(case.before.splitlines(), 1) if number not in touched]
    remaining = iter(result.after.decode().splitlines())
    assert all(line in remaining for line in kept), "a line that no edit touches has changed or moved"
