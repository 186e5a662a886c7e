"""What the judge says about a card that computes something else: each planted difference by its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from jumar.selftest import case, take
from jumar.selftest.given import Given
from jumar.selftest.judge import Judge
from jumar.selftest.take import Taken

torch = pytest.importorskip("torch")
DEVICE = "npu:0"
OUTER = float(torch.finfo(torch.bfloat16).max)


def _coarse(out: Any) -> Any:
    given = Given("products/mm/float32", "float32", "cpu")
    return given.normal(48, 96).bfloat16().float() @ given.normal(96, 40).bfloat16().float()


def _down(out: Any) -> Any:
    """Rounded towards 0: half of the values are one place too small."""
    step = torch.where(torch.arange(out.numel()) % 2 == 0, 1, 0).view(out.shape)
    return (out.view(torch.int16) - step.to(torch.int16)).view(torch.float16)


def _last(out: Any) -> Any:
    out.view(-1)[-1] += 1
    return out


def _nan(out: Any) -> Any:
    out.view(-1)[3] = float("nan")
    return out


def _trembling(out: Any) -> Any:
    """Off by one rounding to 12 bits, both ways."""
    return out * (1 + 2.0**-13 * torch.linspace(-1, 1, out.numel()).view(out.shape))


PLANTED: list[tuple[str, Callable[[Any], Any], str, str]] = [
    ("products/mm/float32", _coarse, "values", "bfloat16"),
    ("elementwise/exp/float16", _down, "rounding", ""),
    ("elementwise/add/float16", _down, "rounding", ""),
    ("shapes/cat/int64", _last, "values", ""),
    ("elementwise/tanh/float32", _nan, "values", ""),
    ("reductions/mean/float32", _trembling, "values", "hf32"),
    ("reductions/mean/float32", lambda out: out * (1 + 1e-4), "values", "1.0001 times the other"),
    ("elementwise/exp/float32", lambda out: out - 0.01, "values", "the other minus 0.01"),
    ("elementwise/subnormal/float16", lambda out: torch.where(out.abs() < 2.0**-14, 0, out), "values", "subnormals"),
    ("elementwise/overflow/bfloat16", lambda out: out.clamp(-OUTER, OUTER), "values", "saturation"),
    ("layers/gelu/float16", lambda out: out * 1.25, "values", "1.25 times the other"),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("id_", "change", "kind", "how"), PLANTED, ids=[f"{row[0]} {row[3]}" for row in PLANTED])
def test_a_planted_difference_is_named(id_: str, change: Callable[[Any], Any], kind: str, how: str) -> None:
    unit = next(unit for unit in case.units() if unit.id == id_)
    own = take.once(unit, Given(id_, unit.dtype, DEVICE))
    judge = Judge(unit, DEVICE, own, {})
    assert judge.evidence(own) == []
    changed = {name: change(result.clone()) for name, result in own.tensors.items()}
    rows = judge.evidence(Taken(own.facts, changed))
    assert {(row["kind"], row.get("as_if") or row.get("pattern", "")) for row in rows} == {(kind, how)}
    assert rows[0]["emulator_right"] is True


@pytest.mark.filterwarnings("ignore")
def test_types_layouts_and_missing_results_are_named() -> None:
    unit = next(unit for unit in case.units() if unit.id == "reductions/mean/float16")
    own = take.once(unit, Given(unit.id, unit.dtype, DEVICE))
    judge = Judge(unit, DEVICE, own, {})
    for part, value, kind in (("dtype", "float32", "data type"), ("stride", [2], "layout"), ("format", 29, "layout")):
        row = judge.evidence(Taken({"result": {**own.facts["result"], part: value}}, own.tensors))[0]
        assert (row["kind"], row["part"], row["card"]) == (kind, part, value)
        assert part == "format" or (row["emulator_right"] and not row["card_right"])
    assert judge.evidence(Taken({}, {}))[0] == {
        "name": "result", "kind": "results", "card": "missing", "emulator": "there",
    }  # fmt: skip
    assert judge.noise(own) is not None and judge.noise(own) < 1e-3
