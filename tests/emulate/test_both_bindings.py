"""Every operator that both torch and MindSpore have gives the same through both bindings, in all its modes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import binding_pairs
import numpy as np
import pytest

from jumar.core.compat import tomllib
from jumar.emulate.mindspore_ops import registry as mindspore_ops
from jumar.emulate.torch_ops import registry as torch_ops

_TABLE = tomllib.loads(Path(binding_pairs.__file__).with_name("pairs.toml").read_text("utf-8"))
_LEFT = {tuple(row["pair"]): row["why"] for row in _TABLE["left"]}
_NEAR = 2e-6


def _plain_name(name: str) -> str:
    """What both clients call an operator, without the interface, the version and the form in place."""
    short = name.split("::")[-1].split(".")[0]
    words = re.sub(r"^(aclnn(Inplace)?|_?npu_)", "", short).replace("_", "").lower()
    words = re.sub(r"(?<=\D)v\d+$", "", words)
    return re.sub(r"backward$", "grad", words)


def _same_operators() -> set[tuple[str, str]]:
    by_name: dict[str, list[str]] = {}
    for name in mindspore_ops.operators():
        by_name.setdefault(_plain_name(name), []).append(name)
    pairs = {(name, other) for name in torch_ops.implemented() for other in by_name.get(_plain_name(name), ())}
    return pairs | {(name, other) for name, others in _TABLE["other_names"].items() for other in others}


def test_no_pair_is_forgotten() -> None:
    declared = {*binding_pairs.declared()}
    assert not declared & {*_LEFT}, "these have cases and need no reason"
    missing = _same_operators() - declared - {*_LEFT}
    assert not missing, "write cases in tests/emulate/binding_pairs, or a reason into its pairs.toml"
    assert not ({*_LEFT} | declared) - _same_operators(), "these are no pair"


@pytest.mark.parametrize("names", sorted(binding_pairs.declared()), ids=" ".join)
def test_both_bindings_give_the_same(names: tuple[str, str]) -> None:
    sides = binding_pairs.torch_side(names[0]), binding_pairs.mindspore_side(names[1])
    modes = list(binding_pairs.declared()[names](*sides))
    assert modes
    for mode, results, others in modes:
        for at, (one, other) in enumerate(zip(results, others, strict=True)):
            _compare(one, other, f"{mode}: result {at}")


def _compare(one: Any, other: Any, where: str) -> None:
    assert (one is None) == (other is None), where
    if one is None:
        return
    assert np.size(one) == np.size(other), where
    left, right = np.asarray(one), np.reshape(other, np.shape(one))
    if left.dtype.kind in "iub":
        np.testing.assert_array_equal(left, right.astype(left.dtype), err_msg=where)
    else:
        np.testing.assert_allclose(left, right, rtol=_NEAR, atol=_NEAR, err_msg=where)
