"""Tables that the build has parsed, and packages that offer rules: found fast, and never wrong."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest

import compile_tables
from jumar.core import discover, tables

TEXT = 'title = "Übung"\n[rows]\na = [1, 2.5, true]\n'.encode()


def test_compiled_table_is_read_instead_of_the_text(tmp_path: Path) -> None:
    (tmp_path / tables.name(TEXT)).write_text('{"from": "json"}')
    assert tables.loads(TEXT, tmp_path) == {"from": "json"}
    assert tables.loads(TEXT + b"b = 1\n", tmp_path)["rows"]["b"] == 1


@pytest.mark.parametrize("content", [None, "", "{", "\udcff"])
def test_missing_or_broken_file_is_no_harm(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / tables.name(TEXT)).write_bytes(content.encode("utf-8", "surrogateescape"))
    assert tables.loads(TEXT, tmp_path) == {"title": "Übung", "rows": {"a": [1, 2.5, True]}}


def test_every_table_survives_the_way_through_json(tmp_path: Path) -> None:
    compile_tables.main(str(tmp_path))
    package = importlib.util.find_spec("jumar")
    assert package is not None and package.submodule_search_locations
    texts = [path.read_bytes() for path in Path(package.submodule_search_locations[0]).rglob("*.toml")]
    compiled = {path.name for path in tmp_path.iterdir()}
    assert len(texts) > 40
    for raw in texts:
        if tables.name(raw) in compiled:
            assert tables.loads(raw, tmp_path) == tables.loads(raw, tmp_path / "none")
            json.dumps(tables.loads(raw, tmp_path))


@pytest.mark.parametrize("folder", ["rules-1.0.dist-info", "rules.egg-info", "EGG-INFO"])
def test_package_with_rules_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    place = tmp_path / folder if folder != "EGG-INFO" else tmp_path / "rules.egg" / folder
    place.mkdir(parents=True)
    (place / "METADATA").write_text("Metadata-Version: 2.1\nName: rules\nVersion: 1.0\n")
    (place / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: rules\nVersion: 1.0\n")
    (place / "entry_points.txt").write_text("[jumar.tried]\none = json\n")
    monkeypatch.syspath_prepend(str(place.parent))
    assert [point.value for point in discover.plugins("jumar.tried")] == ["json"]


def test_nothing_is_loaded_where_nothing_is_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "importlib.metadata", raising=False)
    assert discover.plugins("jumar.nobody") == []
    assert "importlib.metadata" not in sys.modules
