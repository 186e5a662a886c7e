"""The support tables hold together, and the verdict follows the table, the kernels and the wheel."""

from __future__ import annotations

import re

import pytest

from jumar.tables.load import table
from jumar.tables.support import Support, judge, nearest, product


def test_api_table_is_well_formed() -> None:
    raw = table("api_support.json")
    assert list(raw["apis"]) == sorted(raw["apis"]) and raw["source"] and raw["date"] and raw["tool"]
    assert len(set(raw["dtypes"])) == len(raw["dtypes"])
    for name, row in raw["apis"].items():
        assert isinstance(row, str) or set(row) <= set(raw["versions"]), name
        for text in [row] if isinstance(row, str) else row.values():
            match = re.fullmatch(r"[01-]{3}c?l?(\d*)", text)
            assert match and (not match.group(1) or int(match.group(1)) < len(raw["dtypes"])), name


def test_operator_table_is_well_formed() -> None:
    raw = table("op_support.json")
    assert list(raw["operators"]) == sorted(raw["operators"]) and raw["source"] and raw["date"] and raw["tool"]
    for name, spans in raw["operators"].items():
        assert len(spans) == 2 and all(re.fullmatch(r"(\*|\d\.\d+-\d\.\d+)?", span) for span in spans), name


@pytest.mark.parametrize(
    ("chip", "expected"),
    [
        ("910B3", "A2"), ("Ascend910B4", "A2"), ("910B", "other"), ("Ascend910ProB", "other"), ("910A", "other"),
        ("Ascend910_9391", "A3"), ("910C", "A3"), ("Ascend950DT_9573", "950"), ("310P3", "other"),
    ],
)  # fmt: skip
def test_product_of_a_chip(chip: str, expected: str) -> None:
    assert product(chip) == expected


@pytest.mark.parametrize(
    ("torch", "expected"),
    [("2.1.0", "2.7.1"), ("2.7", "2.7.1"), ("2.9.0", "2.7.1"), ("2.10.0", "2.11.0"), ("2.14.0", "2.13.0")],
)
def test_nearest_table(torch: str, expected: str) -> None:
    assert nearest(torch) == expected


@pytest.mark.parametrize(
    ("name", "chip", "expected"),
    [
        ("torch.nn.Linear", "910B3", Support.FULL),
        ("torch.nn.RNN", "910B3", Support.UNSUPPORTED),
        ("torch.nn.GRU", "910B3", Support.LIMITED),
        ("torch.lgamma", "910B3", Support.FALLBACK),
        ("torch.distributions.Gamma", "910B3", Support.FALLBACK),
        ("torch.std", "910B3", Support.PARTLY),
        ("torch.optim.Adam", "910B3", Support.PARTLY),
        ("torch.nn.functional.adaptive_max_pool2d", "910B3", Support.UNTRIED),
        ("torch.nn.AvgPool3d", "910B3", Support.UNTRIED),
        ("torch.Tensor.to_sparse_csr", "910B3", Support.UNSUPPORTED),
        ("torch.scatter_reduce", "310P3", Support.UNSUPPORTED),
        ("torch.lgamma", "310P3", Support.FALLBACK),
    ],
)
def test_verdict(name: str, chip: str, expected: Support) -> None:
    verdict = judge(name, "2.13.0", chip)
    assert verdict is not None and verdict.support is expected


@pytest.mark.parametrize(
    ("name", "chip"),
    [("torch.optim.Adam.step", "910B3"), ("torch.nn.RNN", "310P3"), ("torch.relu", "310P3"), ("torch.no", "910B3")],
)
def test_nothing_is_known_against_it(name: str, chip: str) -> None:
    assert judge(name, "2.13.0", chip) is None


def test_the_table_that_spoke_is_named() -> None:
    verdict = judge("torch.nn.RNN", "2.8.0", "910B3")
    assert verdict is not None and verdict.table == "the vendor's table for torch 2.7.1 on A2"
