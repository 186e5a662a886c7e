"""Registered ids and pages match in both directions, and the reference pages are current."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from jumar.migrate.passes.packs.hooks import folders, pack
from jumar.migrate.rule import OWN, Unit, all_rules, languages
from jumar.tables import pages

ROOT = Path(__file__).parents[1]
RULES = all_rules()
PASSES = ROOT / "src" / "jumar" / "migrate" / "passes"
PAGES = sorted((ROOT / "docs" / "rules").rglob("*.md"))


def _tool(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"tool_{name}", ROOT / "tools" / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("unit", RULES, ids=lambda unit: unit.rule.id)
def test_every_rule_has_a_page(unit: Unit) -> None:
    path = ROOT / "docs" / "rules" / unit.family / f"{unit.rule.name}.md"
    assert path.is_file(), f"write {path.relative_to(ROOT)}"
    assert path.read_text().startswith(f"# {unit.rule.id} {unit.rule.name}\n")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_page_has_a_rule(path: Path) -> None:
    known = {(unit.family, unit.rule.name) for unit in RULES}
    assert (path.parent.name, path.stem) in known


def test_ids_and_names_are_used_once_and_well_formed() -> None:
    ids = [unit.rule.id for unit in RULES]
    names = [unit.rule.name for unit in RULES]
    assert sorted(set(ids)) == sorted(ids)
    assert sorted(set(names)) == sorted(names)
    assert all(re.fullmatch(r"[A-Z]{2}\d{3}", id_) for id_ in ids)
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) for name in names)


def test_rule_files_are_named_after_their_rules() -> None:
    places = [path.relative_to(PASSES) for path in PASSES.rglob("*.py") if "RULE = Rule(" in path.read_text()]
    for place in places:
        assert len(place.parts) == (4 if place.parts[0] == "packs" else 3) and place.parts[-2] in languages()
    rows = {known.name for folder in folders() if (known := pack(folder)) is not None}
    names = {(unit.owner.name, unit.rule.name.replace("-", "_"))
             for unit in RULES if unit.rule not in OWN and unit.rule.name not in rows}  # fmt: skip
    assert {(place.parts[0], place.stem) for place in places} == names


def test_renamed_ids_lead_to_pages_and_are_not_used_again() -> None:
    used = {unit.rule.id for unit in RULES}
    for old, new in pages.renamed().items():
        assert old not in used and new in used


def test_reference_pages_are_current() -> None:
    for name, text in _tool("generate").generated().items():
        path = ROOT / "docs" / "reference" / name
        assert path.read_text(encoding="utf-8") == text, f"{name}: run `python tools/generate.py`"


def test_links_in_guides_lead_somewhere() -> None:
    for path in (ROOT / "docs").rglob("*.md"):
        prose = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
        for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", prose):
            if "://" not in target:
                assert (path.parent / target).exists(), f"{path.relative_to(ROOT)}: {target}"
