"""Chips, releases, pages: spellings that people use, and tables that hold together."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jumar.tables import chips, load, pages, torch_releases
from jumar.tables.load import table


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("910B3", "910B3"),
        ("Ascend910b3", "910B3"),
        (" ascend 310P3", "310P3"),
        ("910_9391", "910_9391"),
        ("A100", None),
    ],
)
def test_chip_spellings(given: str, meant: str | None) -> None:
    assert chips.find(given) == meant


def test_chips_are_in_one_family_each() -> None:
    every = [chip for family in table("chips.toml")["families"].values() for chip in family["chips"]]
    assert len(set(every)) == len(every)
    assert chips.chips()["910B"] == "910" and chips.chips()["910B3"] == "A2"


@pytest.mark.parametrize(
    ("given", "meant"),
    [("2.7", "2.7.1"), ("2.9", "2.9.1"), ("v2.13.0+cpu", "2.13.0"), ("2", "2.14.0"), ("2.1", "2.1.0"), ("3.0", None)],
)
def test_release_spellings(given: str, meant: str | None) -> None:
    assert torch_releases.find(given) == meant


def test_releases_are_ascending() -> None:
    every = torch_releases.releases()
    assert every == sorted(set(every), key=lambda text: [int(part) for part in text.split(".")])


def test_tables_name_source_date_and_tool() -> None:
    for name in load.table_names():
        path = Path(__file__).parents[2] / "src" / "jumar" / "data" / f"{name}.toml"
        head = path.read_text(encoding="utf-8")[:2500]
        for word in ("source:", "date:", "tool:"):
            assert re.search(rf"^# {word} ", head, re.M | re.I), f"{name}.toml: no `# {word}`"


def test_pages_inside_an_installed_package_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pages" / "python").mkdir(parents=True)
    (tmp_path / "pages" / "python" / "a-b.md").write_text("# PT777 a-b\n\nText.\n")
    (tmp_path / "pages" / "python" / "notes.txt").write_text("# PT778 c-d\n")
    (tmp_path / "pages" / "python" / "other.md").write_text("Words.\n")
    monkeypatch.setattr(pages, "files", lambda package: tmp_path)
    pages.pages.cache_clear()
    try:
        assert [(page.id, page.name, page.area) for page in pages.pages().values()] == [("PT777", "a-b", "python")]
    finally:
        pages.pages.cache_clear()


def test_no_pages_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "_folder", lambda folder, installed_as: tmp_path / folder)
    pages.pages.cache_clear()
    try:
        assert pages.pages() == {}
    finally:
        pages.pages.cache_clear()
