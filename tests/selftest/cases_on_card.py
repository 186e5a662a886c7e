"""The cases of `jumar selftest` in this process: on emulated cards, or on real ones with `JUMAR_EMULATE=0`."""

from __future__ import annotations

import pytest

from jumar.selftest import case, take
from jumar.selftest.given import Given
from jumar.selftest.judge import Judge
from jumar.selftest.take import Taken

torch = pytest.importorskip("torch")
DEVICE = "npu:0"
FAMILIES = sorted({unit.family for unit in case.units()} - {"collectives", "speed"})
CHEAP = {"casts", "products", "layers", "errors", "device"}


def _units(family: str) -> list[case.Unit]:
    return [unit for unit in case.units() if unit.family == family and not unit.case.timed]


@pytest.mark.on_device
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "family", [one if one in CHEAP else pytest.param(one, marks=pytest.mark.slow) for one in FAMILIES]
)
def test_cases_hold_on_this_machine(family: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Each runs, or fails as it must; what it computes is what the CPU computes in float64, within the floor."""
    torch.npu.set_device(0)
    off = {}
    for unit in _units(family):
        options = {"folder": str(tmp_path_factory.mktemp("case"))}
        given = Given(unit.id, unit.dtype, DEVICE, **options)
        if unit.case.raises:
            with pytest.raises(Exception, match=r"\w"):
                take.once(unit, given)
            continue
        own = take.once(unit, given)
        judge = Judge(unit, DEVICE, own, options)
        wide = judge.reference()[0]
        if wide is not None:
            exact = {name: result.to(own.tensors[name].dtype) for name, result in wide.tensors.items()}
            rows = judge.evidence(Taken(own.facts, exact))
            off |= {unit.id: rows} if rows else {}
    assert not off


def test_inputs_are_the_same_on_every_device_and_move_by_one_rounding() -> None:
    draw = Given("a/b", "float16", "cpu").normal(50)
    assert torch.equal(draw, Given("a/b", "float16", DEVICE).normal(50).cpu())
    wide = Given("a/b", "float16", "cpu", wide=True).normal(50)
    assert wide.dtype is torch.float64 and torch.equal(wide, draw.double())
    moved = Given("a/b", "float16", "cpu", wide=True, noise=2.0**-11).normal(50)
    assert 0 < float(((moved - wide) / wide).abs().max()) <= 2.0**-11
