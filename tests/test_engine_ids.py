"""Engines know no ids: what is special about a rule or a row is an attribute of it, never a branch in the engine."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import jumar
from jumar.tables.errors import signatures

TOP = Path(jumar.__file__).parent
ID = re.compile(r"[A-Z]{2}\d{3}")
"""The id of a rule, a check or an advice."""
ENGINES = ("migrate", "machine/explain")
"""Folders whose modules work for any rule or row."""
UNITS = re.compile(r"migrate/passes/[^/]+/(?:[^/]+/)?(?:python|shell|config|requirements|native)/")
"""Folders of rules; each module there declares its own id."""


def _modules(*folders: str) -> list[str]:
    found = (path.relative_to(TOP).as_posix() for folder in folders for path in (TOP / folder).rglob("*.py"))
    return sorted(name for name in found if not UNITS.match(name))


def _texts(name: str) -> Iterator[tuple[ast.Constant, str]]:
    """Every text of a module that declares nothing: not a docstring, not the id of a `Rule(...)`."""
    tree = ast.parse((TOP / name).read_bytes())
    declared = {
        id(value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Rule"
        for value in [*node.args[:1], *(keyword.value for keyword in node.keywords if keyword.arg == "id")]
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in declared:
            yield node, node.value


@pytest.mark.parametrize("name", _modules(*ENGINES))
def test_an_engine_names_no_rule_and_no_row(name: str) -> None:
    rows = signatures()
    ids = [f"{name}:{node.lineno}: {text}" for node, text in _texts(name) if ID.fullmatch(text) or text in rows]
    assert not ids, "make it an attribute of the rule, or a column of the table"


@pytest.mark.parametrize("name", _modules("."))
def test_nothing_compares_with_an_id(name: str) -> None:
    """Elsewhere a module may declare ids of its own, but it asks nobody else's findings for theirs."""
    for node in ast.walk(ast.parse((TOP / name).read_bytes())):
        if isinstance(node, ast.Compare):
            texts = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant)]
            assert not [text for text in texts if isinstance(text, str) and ID.fullmatch(text)], f"{name}:{node.lineno}"


def test_the_search_sees_what_it_looks_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("test_engine_ids.TOP", tmp_path)
    (tmp_path / "a.py").write_text(
        'RULE = Rule(id="PT001")\nOTHER = Rule("PT002", "b")\nif x.id in ("PT101", "b"): ...\n'
    )
    assert [text for _, text in _texts("a.py") if ID.fullmatch(text)] == ["PT101"]
