"""Measured constants: from archives of real cards only, the user's own first; the models say what they used."""

from __future__ import annotations

from pathlib import Path

import pytest

from jumar.core.errors import UserError
from jumar.parallel import hardware
from jumar.perf import roofline
from jumar.selftest import measured
from jumar.selftest.result import SAME, CaseResult, Difference, Figure, SelfTest
from jumar.tables import measured as tables

SOURCE = "selftest archive 0123456789abcdef, 2026-11-17, jumar 0.1.0"


def _test(*, emulated: bool, **values: float) -> SelfTest:
    machine = {"emulated": emulated, "name": "Ascend910B3", "memory_mib": 65536, "test_cards": 8}
    figures = tuple(Figure(name, value, "TFLOPS", 0.01) for name, value in values.items())
    cases = (CaseResult("products/mm/float16", SAME, noise=2.5e-4), CaseResult("elementwise/add/float16", SAME))
    return SelfTest(machine, cases, (), figures, 60.0, "2026-11-17")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    place = tables.user_folder()
    place.mkdir(parents=True)
    return place


def _put(folder: Path, test: SelfTest) -> Path:
    path = folder / measured.file_name(test, SOURCE)
    path.write_text(measured.text(measured.rows(test, SOURCE)))
    return path


def test_nothing_is_measured_without_an_archive(folder: Path) -> None:
    assert tables.constants("Ascend910B3") == {}
    assert "measured constants" not in roofline.Card("Ascend910B3").text


def test_models_prefer_measured_rows_and_say_so(folder: Path) -> None:
    assumed, assumed_plan = roofline.Card("Ascend910B3"), hardware.find("910B3", {})
    _put(
        folder, _test(emulated=False, matmul_float16=250.0, matmul_float32=50.0, memory=1200.0, link=150.0, launch=9.0)
    )
    card, plan = roofline.Card("Ascend910B3"), hardware.find("910B3", {})
    assert (card.cube, card.memory, card.link, card.model["host_us"]) == (250e6, 1.2e6, 1.5e5, 9.0)
    assert card.model["float32"] == 0.2 and card.peak == assumed.peak
    assert f"measured constants: matmul_float16, matmul_float32, memory, launch, link ({SOURCE})" in card.text
    assert "the others are assumed" in card.text
    assert plan.flops(2) == pytest.approx(250e12, rel=1e-3) and plan.bandwidth() == pytest.approx(1200e9, rel=1e-3)
    assert plan.constants["link_share"].confidence == "measured" and SOURCE in plan.constants["link_share"].source
    assert plan.constants["overlap"] == assumed_plan.constants["overlap"]
    assert hardware.find("910B3", {"matrix_share": 0.3}).constants["matrix_share"].confidence == "yours"
    assert tables.noise("Ascend910B3") == {"products/mm/float16": 2.5e-4}
    assert roofline.Card("Ascend910B4").measured == {}


def test_an_emulated_machine_gives_no_rows(folder: Path) -> None:
    with pytest.raises(UserError, match="says nothing about a card"):
        measured.rows(_test(emulated=True, memory=1.0), SOURCE)
    path = _put(folder, _test(emulated=False, memory=1200.0))
    path.write_text(path.read_text().replace('"real card"', '"emulated"'))
    assert tables.constants("Ascend910B3") == {}
    (folder / "broken.toml").write_text("source = ")
    assert tables.constants("Ascend910B3") == {}


def test_figures_of_a_busy_or_slow_card_are_left_out() -> None:
    test = _test(emulated=False, memory=1200.0, vector=3.0, on_card_0=5.0)
    busy = Figure("launch", 9.0, "us", 0.9)
    slow = Difference("speed/vector", "slow", "", "unknown", "")
    rows = measured.rows(test._replace(figures=(*test.figures, busy), differences=(slow,)), SOURCE)
    assert [row["name"] for row in rows["constants"]] == ["memory"]
