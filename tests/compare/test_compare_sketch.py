"""A sketch of about 1 KB tells how far two tensors are apart."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from jumar.compare import measure, native
from jumar.compare.folding import WIDTH, fold, signs
from jumar.compare.result import STATS
from jumar.compare.sketch import CHUNK, DeviceSketcher, sketcher


def _rows(*tensors: torch.Tensor) -> np.ndarray:
    taker = sketcher(torch.device("cpu"))
    for tensor in tensors:
        taker.add(tensor)
    return taker.take()


@pytest.mark.parametrize("size", [1e-1, 1e-3, 1e-5])
@pytest.mark.parametrize("count", [1000, 50_000, CHUNK * 3 + 77])
def test_relative_error_is_estimated(size: float, count: int) -> None:
    torch.manual_seed(1)
    a = torch.randn(count)
    b = a + size * torch.randn(count)
    true = float((a - b).norm() / a.norm())
    found = measure.rows(*_rows(a, b), count)
    assert found.relative == pytest.approx(true, rel=0.3)
    assert found.cosine == pytest.approx(1 - true**2 / 2, abs=true**2 + 1e-6)


def test_an_error_alike_in_every_row_is_seen_too() -> None:
    a = torch.randn(4096, 256, generator=torch.Generator().manual_seed(0))
    b = a + 0.01 * torch.randn(256, generator=torch.Generator().manual_seed(1))
    found = measure.rows(*_rows(a, b), a.numel())
    assert found.relative == pytest.approx(float((a - b).norm() / a.norm()), rel=0.3)


def test_order_matters_and_layout_does_not() -> None:
    a = torch.arange(3000.0).reshape(30, 100)
    same = a.t().contiguous().t()
    assert measure.rows(*_rows(a, same), a.numel()).relative == 0
    assert measure.rows(*_rows(a, a.flip(0)), a.numel()).relative > 0.1


def test_statistics_are_those_of_the_tensor() -> None:
    a = torch.tensor([1.0, -2.0, 3.0])
    row = _rows(a)[0]
    assert dict(zip(STATS, row.tolist())) == pytest.approx(
        {"min": -2, "max": 3, "sum": 2, "norm": 14**0.5, "nan": 0, "inf": 0}
    )
    bad = _rows(torch.tensor([float("nan"), float("inf"), 1.0, float("-inf")]))[0]
    assert (bad[4], bad[5]) == (1, 2)


@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.bool, torch.complex64]
)
def test_every_type_has_numbers(dtype: torch.dtype) -> None:
    row = _rows(torch.ones(700).to(dtype))[0]
    assert row[3] == pytest.approx(700**0.5, rel=1e-3)
    assert np.isfinite(row).all()


def test_empty_and_single_values_do_no_harm() -> None:
    rows = _rows(torch.zeros(0), torch.tensor(2.5))
    assert (rows[0] == 0).all() and rows[1][3] == 2.5


def test_folded_sketches_still_measure() -> None:
    a = torch.randn(20_000, generator=torch.Generator().manual_seed(0))
    b = a * 1.01
    rows = _rows(a, b)
    narrow = np.hstack([rows[:, : len(STATS)], fold(rows[:, len(STATS) :], 64)])
    assert measure.rows(narrow[0], rows[1], a.numel()).relative == pytest.approx(0.01, rel=0.4)


def test_signs_do_not_change() -> None:
    """They are part of the format: records of two machines must agree."""
    assert "".join("+" if sign > 0 else "-" for sign in signs(32, 1)) == "++++-+---+-++--++---+---+-+-++-+"
    assert abs(signs(1 << 16, 1).sum()) < 1500 and len(signs(WIDTH, 2)) == WIDTH


@pytest.mark.skipif(native.sketch() is None, reason="the package was not built with native/sketch")
@pytest.mark.parametrize("count", [1, 255, 300, CHUNK + 77, 5 * CHUNK])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int32])
def test_native_code_and_the_operators_of_torch_agree(dtype: torch.dtype, count: int) -> None:
    device = DeviceSketcher(torch.device("cpu"))
    tensor = (100 * torch.randn(count, generator=torch.Generator().manual_seed(0))).to(dtype)
    device.add(tensor)
    assert _rows(tensor)[0] == pytest.approx(device.take()[0], rel=1e-4, abs=2e-6 * float(tensor.double().norm()))


def test_values_that_are_no_numbers_or_hardly_any_are_counted_in_both_ways() -> None:
    device = DeviceSketcher(torch.device("cpu"))
    bad = torch.ones(CHUNK + 5)
    bad[3], bad[CHUNK], bad[CHUNK + 1] = float("nan"), float("inf"), float("-inf")
    device.add(bad)
    for row in (_rows(bad)[0], device.take()[0]):
        assert np.isnan(row[:2]).all() and list(row[4:6]) == [1, 2]
    assert _rows(torch.full((400,), 1e-25))[0][3] == pytest.approx(2e-24, rel=1e-3)
