"""The tables of versions, packages, tools and settings hold together."""

from __future__ import annotations

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from jumar.core.finding import State
from jumar.tables import packages, settings, versions
from jumar.tables.load import table


def test_releases_are_sorted_and_distinct() -> None:
    rows = versions.releases()
    assert len({(row.torch, row.torch_npu, row.cann) for row in rows}) == len(rows)
    torch = [Version(row.torch) for row in rows]
    assert torch == sorted(torch)
    assert all(row.cann and row.python for row in rows)


@pytest.mark.parametrize(
    ("torch", "torch_npu"),
    [
        ("2.13.0", "2.13.0"),
        ("2.7.1", "2.7.1.post8"),
        ("2.7.1+cu118", "2.7.1.post8"),
        ("2.3.0", None),
        ("nonsense", None),
    ],
)
def test_release_for_an_exact_torch(torch: str, torch_npu: str | None) -> None:
    row = versions.release_for(torch)
    assert (row.torch_npu if row else None) == torch_npu


@pytest.mark.parametrize(
    ("wanted", "torch"), [(">=2.0", "2.13.0"), ("<2.6,>=2.1", "2.5.1"), ("~=2.4.0", "2.4.0"), (">=99", None)]
)
def test_release_within_a_range(wanted: str, torch: str | None) -> None:
    row = versions.release_within(SpecifierSet(wanted), "2.13.0")
    assert (row.torch if row else None) == torch


def test_nearest_release() -> None:
    same, newer = versions.nearest("2.3.0"), versions.nearest("1.9.0")
    assert same and same.torch == "2.3.1"
    assert newer and newer.torch == "1.11.0"
    assert versions.nearest("99.0") is None and versions.nearest("x") is None


def test_companions_name_known_versions() -> None:
    for torch, row in versions.companions().items():
        assert Version(torch) and all(Version(version) for version in row.values())


def test_package_rows() -> None:
    rows = packages.packages()
    assert list(rows) == sorted(rows)
    assert all(row.note and row.state is not State.REWRITTEN for row in rows.values())
    found = packages.package("nvidia-cublas-cu12")
    assert found is not None and found.name == "nvidia-*"
    assert packages.package("apexcharts") is None
    assert packages.package("flash-attn-3") is not None


def test_tool_rows() -> None:
    assert list(packages.tools()) == sorted(packages.tools())
    assert packages.tools()["nvidia-smi"].npu == "npu-smi info"


def test_setting_rows() -> None:
    rows = table("settings.toml")["settings"]
    keys = [(row["key"], row.get("value", "")) for row in rows]
    assert keys == sorted(set(keys))
    assert all(row["note"] and (("new" in row) == (row["state"] == "rewritten")) for row in rows)
    found = settings.setting(("zero", "optimizer", "type"), "onebitadam")
    assert found is not None and found.state is State.HAND
    assert settings.setting(("type",), "OneBitAdam") is None
    assert settings.setting((), "x") is None
