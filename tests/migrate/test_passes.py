"""The engine knows no pass; passes are found by their place and say what they are."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jumar.core import discover
from jumar.migrate import languages, rule
from jumar.migrate.project import migrate_bytes
from jumar.migrate.settings import Cloud, Settings

TOP = Path(rule.__file__).parent
MACHINERY = sorted(path for path in TOP.rglob("*.py") if "passes" not in path.relative_to(TOP).parts)


@pytest.mark.parametrize("path", MACHINERY, ids=lambda path: path.relative_to(TOP).as_posix())
def test_the_engine_imports_no_pass(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_bytes())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        assert not any(name.startswith(rule.PASSES) for name in names), f"{path}:{getattr(node, 'lineno', 0)}"


def test_passes_are_named_after_their_folders() -> None:
    folders = {path.parent.name for path in (TOP / "passes").glob("*/hooks.py")}
    assert {one.name for one in rule.passes()} == folders == {"cloud", "mindspore", "multicard", "packs", "torch"}


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        (Settings(), {"packs", "torch", "mindspore"}),
        (Settings(multi_card=True), {"packs", "torch", "mindspore", "multicard"}),
        (Settings(multi_card=True, cloud=Cloud("train.py")), {"cloud"}),
    ],
)
def test_the_settings_choose_the_passes(settings: Settings, wanted: set[str]) -> None:
    assert {unit.owner.name for unit in rule.active("python", settings)} == wanted


def test_every_rule_stands_on_the_reference_page() -> None:
    listed = {unit.rule.id for unit in rule.all_rules()}
    for language in rule.languages():
        for settings in (Settings(multi_card=True), Settings(cloud=Cloud("train.py"))):
            assert {unit.rule.id for unit in rule.active(language, settings)} <= listed


def test_the_rules_of_multi_card_are_chosen_as_one() -> None:
    units = [unit for unit in rule.active("python", Settings(multi_card=True)) if unit.owner.name == "multicard"]
    assert len(units) > 5 and {unit.chosen_as for unit in units} == {"PT300"}


@pytest.fixture
def recipes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A language that only its place makes known: `recipe.py` in the package of languages."""
    (tmp_path / "recipe.py").write_text(
        "import re\n"
        "from jumar.migrate.engine import Outcome\n"
        "SUFFIXES = ('.recipe',)\n"
        "NAMES = r'Cookfile'\n"
        "FOLDERS = {'recipes': ('.txt',)}\n"
        "INTERPRETER = re.compile(rb'cook')\n"
        "def migrate(source, settings):\n"
        "    return Outcome([], source.data + b'salt')\n"
    )
    caches = (discover.modules, languages._files, rule.languages, rule._grouped)
    monkeypatch.setattr(languages, "__path__", [*languages.__path__, str(tmp_path)])
    for each in caches:
        each.cache_clear()
    yield
    sys.modules.pop("jumar.migrate.languages.recipe", None)
    for each in caches:
        each.cache_clear()


@pytest.mark.usefixtures("recipes")
def test_a_new_language_is_one_file() -> None:
    names = ("a.recipe", "Cookfile", "recipes/soup.txt")
    assert {languages.classify(name) for name in names} == {"recipe"}
    assert languages.classify("run", b"#!/usr/bin/env cook\n") == "recipe"
    assert "recipe" in rule.languages()
    result = migrate_bytes("a.recipe", b"water, ", Settings())
    assert result is not None and result.after == b"water, salt"


@pytest.mark.parametrize(
    ("path", "head", "language"),
    [
        ("a.PY", b"", "python"),
        ("run", b"#!/usr/bin/env python3\n", "python"),
        ("run", b"#!/bin/dash\n", "shell"),
        ("run", b"#!/usr/bin/perl\n", None),
        ("Dockerfile.requirements.txt", b"", "dockerfile"),
        (".env.Dockerfile", b"", "dockerfile"),
        ("requirements/base.txt", b"", "requirements"),
        ("notes/base.txt", b"", None),
        ("uv.lock", b"", "config"),
        ("other.lock", b"", None),
        ("jumar.toml", b"", None),
    ],
)
def test_which_language_a_file_is_in(path: str, head: bytes, language: str | None) -> None:
    assert languages.classify(path, head) == language
