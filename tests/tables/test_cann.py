"""The tables behind `jumar plan` hold together."""

from __future__ import annotations

import re

import pytest
from packaging.version import Version

from jumar.tables import cann, chips, installation, mindspore_versions, versions
from jumar.tables.load import table

TRUST = {"official", "high", "medium", "low"}
OLD_TO_NEW = [
    "20.1", "20.2.RC1", "20.3.0", "5.0.1", "5.0.1.SPC102", "5.0.2", "5.0.2.1", "5.0.4", "5.1.RC1", "5.1.RC1.1",
    "5.1.RC2", "6.0.RC1", "6.0.1", "6.3.RC1", "6.3.RC3", "6.3.RC3.1", "7.0.RC1", "7.0.0",
    "8.0.RC1.alpha001", "8.0.RC1",
    "8.0.RC3", "8.0.0.alpha001", "8.0.0", "8.5.0.alpha002", "8.5.0", "8.5.1", "9.0.0-beta.2", "9.0.0",
]  # fmt: skip
KITS = [
    "20.2.2", "21.0.rc1", "21.0.4", "22.0.0.3", "5.1.RC2", "6.0.RC1", "6.0.0", "23.0.RC1", "23.0.0", "24.1.RC1",
    "24.1.0", "25.0.rc1.1", "25.5.0", "26.0.RC1", "26.1.0",
]  # fmt: skip


def test_order_of_releases() -> None:
    assert sorted(set(OLD_TO_NEW), key=cann.key) == OLD_TO_NEW
    assert sorted(set(KITS), key=cann.driver_key) == KITS


def test_every_table_says_where_it_is_from() -> None:
    for name in ("cann.json", "mindspore_versions.json", "torch_npu_versions.json"):
        head = table(name)
        assert head["source"] and re.fullmatch(r"\d{4}-\d\d-\d\d", head["date"]) and head["tool"].startswith("tools/")


def test_lists_of_drivers() -> None:
    rows = table("driver_support.toml")["drivers"]
    assert all(row["source"].startswith("https://") and row["fits"] for row in rows)
    for row in rows:
        names = [*row["fits"], *row.get("does_not", ())]
        assert len(set(names)) == len(names)
        assert row["fits"] == sorted(row["fits"], key=lambda name: cann.driver_key(name.lower().removesuffix(".x")))


@pytest.mark.parametrize(
    ("release", "row"), [("9.1.3", "9.1.X"), ("8.5.2", "8.5.2"), ("8.5.1", "8.5.X"), ("8.5.0.alpha001", None)]
)
def test_the_list_of_a_release(release: str, row: str | None) -> None:
    found = cann.drivers_for(release)
    assert (found.cann if found else None) == row


def test_kits() -> None:
    rows = table("cann.json")["kits"]
    assert len({row["cann"] for row in rows}) == len(rows)
    assert all(row["confidence"] in TRUST and row["source"] for row in rows)
    assert "index id" not in str(rows)


@pytest.mark.parametrize(
    ("release", "hdk"), [("8.5.0", "25.5.0"), ("8.5.1", "25.5.0"), ("8.3.RC2", "25.3.RC1"), ("5.0.3", "21.0.3.1"),
                         ("5.0.1.SPC102", "21.0.rc1"), ("6.3.RC3", None), ("9.2.0", None),
                         ("8.2.RC1.alpha003", "25.2.0")],
)  # fmt: skip
def test_patches_and_previews_have_the_kit_of_their_release(release: str, hdk: str | None) -> None:
    kit = cann.kit_for(release)
    assert (kit.hdk if kit else None) == hdk


@pytest.mark.parametrize(
    ("given", "meant"),
    [("8.0.rc1", "8.0.RC1"), ("CANN 8.0.RC1", "8.0.RC1"), ("8.0.RC1.beta1", "8.0.RC1"), ("8.0", None)],
)
def test_spellings_of_cann(given: str, meant: str | None) -> None:
    assert cann.find(given) == meant


def test_ranges_of_release_notes() -> None:
    assert cann.within("9.0.X") == ("9.0.0", "9.0.1") and cann.within("8.5.0") == ("8.5.0",)
    assert all(cann.within(row.cann) for row in versions.releases())


def test_packages_and_images() -> None:
    rows = table("cann.json")["packages"]
    assert len({(row["cann"], row["kind"], row.get("chip")) for row in rows}) == len(rows)
    assert all(re.fullmatch(r"https://\S+_\S+_linux-\{arch\}\.run", row["url"]) for row in rows)
    assert all(row["cann"] in cann.known() for row in rows)
    old = table("cann.json")["old_packages"]
    assert all(row.get("url", "https://").startswith("https://") for row in old)
    assert all(
        re.fullmatch(r"[\w.-]+-(ubuntu|openeuler)[\d.]+-py3\.\d+(-devel)?", tag) for tag in cann.images().values()
    )


def test_mindspore_rows() -> None:
    rows = mindspore_versions.releases()
    assert [row.mindspore for row in rows] == sorted({row.mindspore for row in rows}, key=Version)
    for row in rows:
        assert row.cann in cann.known() and row.python and row.confidence in TRUST and row.source
        assert row.hdk is None or row.hdk == getattr(cann.kit_for(row.cann), "hdk", None)


def test_torch_rows_know_what_their_wheels_ask_for() -> None:
    for row in versions.releases():
        assert row.source and row.confidence in TRUST
        assert bool(row.glibc) == row.published
        for pin in row.pin.values():
            assert Version(pin.removesuffix(".*")).public == row.torch
    post8 = next(row for row in versions.releases() if row.torch_npu == "2.7.1.post8")
    assert post8.pin == {"x86_64": "2.7.1+cpu", "aarch64": "2.7.1"}


def test_families_and_systems() -> None:
    assert set(installation.families()) == set(table("chips.toml")["families"]) == set(chips.chips().values())
    for family in installation.families().values():
        assert family.first in cann.known() and family.confidence in TRUST and family.source
    managers = table("installation.toml")["managers"]
    assert list(installation.systems()) == sorted(installation.systems(), key=str.lower)
    assert all(system.manager in managers for system in installation.systems().values())


@pytest.mark.parametrize(
    ("given", "name"), [("openEuler22.03", "openEuler 22.03"), ("ubuntu-22.04", "Ubuntu 22.04"),
                        ("kylin v10", "Kylin V10"),
                        ("Ubuntu 22.04.4 LTS", "Ubuntu 22.04"), ("openEuler 22.03 LTS-SP4", "openEuler 22.03"),
                        ("ubuntu 22.10", None)],
)  # fmt: skip
def test_spellings_of_systems(given: str, name: str | None) -> None:
    found = installation.find_system(given)
    assert (found.name if found else None) == name


def test_every_cann_has_names_and_an_environment() -> None:
    for release in cann.known():
        assert installation.row_for("environment", release) is not None
        for family in installation.families().values():
            assert installation.file_name("toolkit", family, release) is not None
