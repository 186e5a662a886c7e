"""data/operator_kinds.toml: each operator has one kind, and its readers agree."""

from __future__ import annotations

import pytest

from jumar.tables.load import table
from jumar.tables.operator_kinds import IDLE, VIEWS, is_kind, multiplies, operators

KINDS = [kind for kind, names in table("operator_kinds.toml").items() if isinstance(names, list)]


def test_an_operator_has_one_kind() -> None:
    names = [name for kind in KINDS for name in table("operator_kinds.toml")[kind]]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("kind", KINDS)
def test_names_are_plain_and_sorted(kind: str) -> None:
    names = table("operator_kinds.toml")[kind]
    assert names == sorted(names)
    assert not [name for name in names if name != name.strip("_")]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mm", True), ("addmm_", True), ("_grouped_mm", True), ("convolution_backward", True),
        ("_scaled_dot_product_flash_attention_for_cpu", True), ("npu_fusion_attention_grad_v2", True),
        ("mvlgamma", False), ("dot_product_of_something_else", False), ("softmax", False), ("view", False),
    ],
)  # fmt: skip
def test_what_multiplies(name: str, expected: bool) -> None:
    assert multiplies(name) is expected


def test_views_are_idle_and_a_copy_is_no_view() -> None:
    assert operators(*VIEWS) < operators(*IDLE)
    assert is_kind("_reshape_alias", *VIEWS)
    assert is_kind("_to_copy", *IDLE) and not is_kind("_to_copy", *VIEWS)
