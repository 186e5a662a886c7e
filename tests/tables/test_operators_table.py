"""The table of operators: what its reader refuses, and how rows match."""

from __future__ import annotations

from typing import Any

import pytest

from jumar.tables import operators
from jumar.tables.socs import socs

_WHY = "a reason"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ({"cuda": {}}, "unknown namespace `cuda`; known: aten, atb, npu, _C_ascend"),
        ({"aten": {"add": {"carried": "torch_npu"}}}, "`aten::add`: `why` is missing"),
        ({"aten": {"add": {"why": " ", "random": True}}}, "`aten::add`: `why` is missing"),
        ({"aten": {"add": {"why": _WHY}}}, "`aten::add`: says nothing but why"),
        ({"aten": {"add": {"why": _WHY, "widening": True}}}, "`aten::add`: unknown column `widening`"),
        ({"aten": {"add": {"why": _WHY, "name": "x"}}}, "`aten::add`: unknown column `name`"),
        ({"aten": {"a b": {"why": _WHY, "random": True}}}, "`aten::a b`: not the name of an operator"),
        ({"npu": {"x": {"why": _WHY, "random": 1}}}, "`npu::x`: `random` is true or left out"),
        ({"npu": {"x": {"why": _WHY, "index": "target"}}}, "`npu::x`: `index` is a list of 1 to 4"),
        ({"npu": {"x": {"why": _WHY, "index": []}}}, "`npu::x`: `index` is a list of 1 to 4"),
        ({"npu": {"x": {"why": _WHY, "host_results": ["a"]}}}, "`npu::x`: `host_results` does not take ['a']"),
        ({"npu": {"x": {"why": _WHY, "rounding": ["int8"]}}}, "`npu::x`: `rounding` does not take ['int8']"),
        (
            {"npu": {"x": {"why": _WHY, "carried": "torch_npu", "calls": "_npu_x"}}},
            "`npu::x`: `calls` is an operator with its namespace, not `_npu_x`",
        ),
        (
            {"npu": {"x": {"why": _WHY, "carried": "gpu"}}},
            "`npu::x`: `carried` is one of torch_npu, reference, softmax, python, refused, not `gpu`",
        ),
        (
            {"aten": {"x": {"why": _WHY, "int32_results": [1]}}},
            "`aten::x`: `source` is the file and line of torch_npu that says so, as `ToKernelNpu.cpp:40`",
        ),
        (
            {"aten": {"x": {"why": _WHY, "refuses": ["float64"], "source": "A.cpp:1"}}},
            "`aten::x`: `refuses` and `refusal` come together",
        ),
        (
            {"aten": {"x": {"why": _WHY, "warns_for": ["int32"], "source": "A.cpp:1"}}},
            "`aten::x`: `warns_for` needs `warns`",
        ),
        (
            {"aten": {"x": {"why": _WHY, "refuses": ["double"], "refusal": "no", "source": "A.cpp:1"}}},
            "`aten::x`: `refuses` does not take ['double']",
        ),
        (
            {"npu": {"b": {"why": _WHY, "random": True}, "a": {"why": _WHY, "random": True}}},
            "the rows of `npu` are not sorted",
        ),
    ],
)
def test_a_mistake_is_named_with_its_row(content: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError) as raised:
        operators.parse(content)
    assert str(raised.value) == f"operators.toml: {problem}"


@pytest.mark.parametrize(
    ("row", "operator", "expected"),
    [
        ("aten::_softmax.default", "aten::_softmax", True),
        ("aten::_softmax.default", "aten::_softmax.out", False),
        ("aten::mm", "aten::mm.out", True),
        ("aten::mm", "aten::bmm", False),
        ("aten::_foreach_*", "aten::_foreach_add.Scalar", True),
        ("aten::*index*", "npu::npu_indexing", False),
    ],
)
def test_a_row_matches_a_name_an_overload_or_a_pattern(row: str, operator: str, expected: bool) -> None:
    assert operators.Row(row, _WHY).matches(operator) is expected


def test_the_row_without_a_star_says_how_an_operator_is_carried() -> None:
    rows = operators.matching("aten::_thnn_fused_lstm_cell")
    assert [row.name for row in rows] == ["aten::_thnn_fused_lstm_cell", "aten::_thnn_fused_*"]
    row = operators.carrier("aten::_thnn_fused_lstm_cell")
    assert row is not None and row.carried == "python"
    assert operators.carrier("aten::add.Tensor") is None


def test_patterns_never_disagree_about_the_carrier() -> None:
    patterns = [row for row in operators.rows() if row.is_pattern and row.carried]
    assert {row.carried for row in patterns} == {"refused"}


def test_every_chip_has_its_group_of_operators() -> None:
    groups = {soc: row["operators"] for soc, row in socs().items()}
    assert set(groups.values()) == set(operators.CHIPS)
    assert [groups[soc] for soc in ("Ascend310P3", "Ascend910B3", "Ascend950PR_9599")] == list(operators.CHIPS)
