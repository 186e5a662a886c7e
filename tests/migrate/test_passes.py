"""The engine knows no pass; passes are found by their place and say what they are."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from jumar.migrate import rule
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
    for language in rule.LANGUAGES:
        for settings in (Settings(multi_card=True), Settings(cloud=Cloud("train.py"))):
            assert {unit.rule.id for unit in rule.active(language, settings)} <= listed


def test_the_rules_of_multi_card_are_chosen_as_one() -> None:
    units = [unit for unit in rule.active("python", Settings(multi_card=True)) if unit.owner.name == "multicard"]
    assert len(units) > 5 and {unit.chosen_as for unit in units} == {"PT300"}
