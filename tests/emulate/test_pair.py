"""Which pair of torch and torch_npu is installed: tested, untested or impossible."""

from __future__ import annotations

import pytest

from jumar.core.errors import UserError
from jumar.emulate import pair
from jumar.tables import tested, versions

_DEFAULT = tested.pair()


def test_the_default_pair_says_nothing() -> None:
    assert pair.check(_DEFAULT.torch, _DEFAULT.torch_npu) == ""
    assert pair.check(f"{_DEFAULT.torch}+cpu", _DEFAULT.torch_npu) == ""


def test_an_untested_pair_runs_with_one_line_that_names_the_nearest() -> None:
    said = pair.check("2.99.0", "2.99.0")
    assert said.startswith("jumar: torch 2.99.0 with torch_npu 2.99.0 is not a tested pair")
    assert "\n" not in said
    near = pair.nearest_tested("2.99.0")
    assert said.endswith(f"the nearest tested one is torch {near.torch} with torch_npu {near.torch_npu}")


def test_another_build_of_a_tested_release_is_untested() -> None:
    assert "is not a tested pair" in pair.check(_DEFAULT.torch, f"{_DEFAULT.torch_npu}.post99")


def test_a_pair_that_failed_in_part_names_the_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    row = tested.Pair("9.9.0", "9.9.0", "", "basic checks", date="2026-01-02", failed=("ddp: timeout: 5 s", "half: x"))
    monkeypatch.setattr(tested, "pairs", lambda: (_DEFAULT, row))
    said = pair.check("9.9.0", "9.9.0")
    assert said == "jumar: torch 9.9.0 with torch_npu 9.9.0 was tested on 2026-01-02 and failed in part: ddp, half"
    assert pair.nearest_tested("9.9.0") is _DEFAULT


def test_two_releases_that_do_not_match_name_the_pair_for_this_torch() -> None:
    with pytest.raises(UserError, match=r"torch 2\.5\.1 and torch_npu 2\.7\.1 do not match") as caught:
        pair.check("2.5.1", "2.7.1")
    wanted = versions.release_for("2.5.1")
    assert wanted is not None and caught.value.hint is not None
    assert caught.value.hint.startswith(f"the nearest pair is `pip install torch==2.5.1 torch_npu=={wanted.torch_npu}`")


@pytest.mark.parametrize(
    ("torch", "python", "near"),
    [
        ("2.5.0", "3.11", "2.5.1"),
        ("2.2.2", "3.10", "2.2.0"),
        ("3.0.0", "3.11", "2.14.0"),
        ("2.14.0", "3.9", "2.8.0"),
        ("1.13.1", "3.9", "2.1.0"),
    ],
)
def test_the_nearest_pair_has_wheels_for_the_python(torch: str, python: str, near: str) -> None:
    found = pair.nearest(torch, python, "x86_64")
    assert found is not None and found.torch == near
    assert found.published and python in found.python


def test_no_pair_for_a_python_without_wheels() -> None:
    assert pair.nearest("2.5.1", "3.7", "x86_64") is None


def test_a_missing_package_names_a_pair_where_the_default_has_no_wheel() -> None:
    assert pair.missing("torch", "3.11", "x86_64").hint == pair.INSTALL
    hint = pair.missing("torch", "3.9", "x86_64").hint
    assert hint is not None and "has no wheel for Python 3.9; the nearest pair is `pip install torch==2.8.0" in hint
