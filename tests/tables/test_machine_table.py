"""data/machine.toml: families that exist, ids and codes well formed, every namesake with its cure."""

from __future__ import annotations

import re
from importlib.resources import files

from jumar.core.compat import tomllib
from jumar.tables import chips
from jumar.tables.load import table

TABLE = table("machine.toml")
FAMILIES = set(chips.chips().values())


def test_says_where_it_is_from() -> None:
    text = files("jumar.data").joinpath("machine.toml").read_text(encoding="utf-8")
    assert re.search(r"^# source: .+", text, re.M) and re.search(r"^# date: \d{4}-\d\d-\d\d$", text, re.M)
    tomllib.loads(text)


def test_every_family_has_its_operator_package() -> None:
    assert set(TABLE["operators"]) == FAMILIES
    for row in TABLE["operators"].values():
        assert set(row) == {"package", "kernels"} and row["kernels"].startswith("ascend")
    assert len({row["kernels"] for row in TABLE["operators"].values()}) == len(FAMILIES)


def test_ids_and_codes_are_well_formed() -> None:
    assert all(re.fullmatch(r"d[0-9a-f]{3}", device) for device in TABLE["pci"])
    assert set(TABLE["pci"].values()) - {"310"} == FAMILIES
    assert all(re.fullmatch(r"-8\d{3}", code) and text for code, text in TABLE["dcmi"].items())
    for kind in ("pci", "dcmi", "namesakes", "operators"):
        assert list(TABLE[kind]) == sorted(TABLE[kind])


def test_every_namesake_has_its_cure() -> None:
    assert set(TABLE["namesakes"]) == {"acl", "apex", "auto-tune", "moxing", "te"}
    assert all(row["is"] and row["real"] for row in TABLE["namesakes"].values())


def test_bounds_are_in_order() -> None:
    limits = TABLE["limits"]
    assert 0 < limits["idle_memory_share"] < 1
    assert limits["temperature_hot"] < limits["temperature_stop"]
