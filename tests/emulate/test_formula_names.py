"""The functions that formulas are written with mean the same for numpy and for torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from jumar.emulate.formulas import numpy_names, torch_names  # noqa: E402
from jumar.emulate.formulas.namespace import namespace  # noqa: E402

_OTHERS: dict[str, Callable[..., Any]] = {
    "add_product": lambda xp, x: xp.add_product(x, x, -x, 0.3),
    "add_scaled": lambda xp, x: xp.add_scaled(x, -x, 0.3),
    "astype": lambda xp, x: xp.astype(x, xp.round(x).dtype),
    "clip": lambda xp, x: (xp.clip(x, -0.5, 0.5), xp.clip(x, None, 0.5)),
    "concat": lambda xp, x: xp.concat([x, x], -1),
    "gelu": lambda xp, x: tuple(xp.gelu(x, approximate=how) for how in ("none", "tanh")),
    "gelu_backward": lambda xp, x: tuple(xp.gelu_backward(x, -x, approximate=how) for how in ("none", "tanh")),
    "max": lambda xp, x: (xp.max(x, -1, keepdims=True), xp.max(x, (0, 2))),
    "maximum": lambda xp, x: xp.maximum(x, -x),
    "mean": lambda xp, x: (xp.mean(x, (1, 2), keepdims=True), xp.mean(x, -1)),
    "min": lambda xp, x: (xp.min(x, -1, keepdims=True), xp.min(x, (0, 2))),
    "reshape": lambda xp, x: xp.reshape(x, (-1, 2)),
    "silu_backward": lambda xp, x: xp.silu_backward(x, -x),
    "split": lambda xp, x: tuple(xp.split(x, 2, -1)),
    "squeeze": lambda xp, x: xp.squeeze(x[:, :1], 1),
    "stack": lambda xp, x: xp.stack([x, -x], -1),
    "sum": lambda xp, x: (xp.sum(x), xp.sum(x, 0), xp.sum(x, (0, 1), keepdims=True)),
    "var": lambda xp, x: (xp.var(x, (0, 2)), xp.var(x, -1, keepdims=True)),
    "where": lambda xp, x: xp.where(x > 0, x, 0.0),
}
"""Calls of the functions that take more than an array."""


def test_both_libraries_have_the_same_names() -> None:
    assert numpy_names.__all__ == torch_names.__all__ == sorted(numpy_names.__all__)


@pytest.mark.parametrize("name", numpy_names.__all__)
def test_a_name_means_the_same_in_both(name: str) -> None:
    x = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(1))
    x = x.abs() + 0.5 if name in ("sqrt", "rsqrt") else x
    call = _OTHERS.get(name, lambda xp, x: getattr(xp, name)(x))
    expected, results = (call(namespace(one), one) for one in (x, x.numpy()))
    for one, other in zip(*(r if isinstance(r, tuple) else (r,) for r in (results, expected)), strict=True):
        assert np.shape(one) == tuple(other.shape)
        np.testing.assert_allclose(one, other.numpy(), rtol=2e-6, atol=1e-6)


def test_the_namespace_is_that_of_the_array() -> None:
    assert namespace(torch.nn.Parameter(torch.ones(1))) is torch_names
    assert namespace(np.float32(1)) is numpy_names
