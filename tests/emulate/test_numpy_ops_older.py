"""Operators of the older interface that MindSpore's process computes with numpy, called as a framework does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as functional
from stand_ins import Library

pytestmark = pytest.mark.usefixtures("numpy_kernels")


def _random(*shape: int, kind: str = "float32") -> Any:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(kind)


def _run(card: Library, kind: str, inputs: list[Any], out: Any, **attributes: Any) -> Any:
    assert card.by_type(kind, inputs, [out], **attributes) == 0, card.error()
    return out


@pytest.mark.parametrize("how", ["none", "batchmean", "sum"])
@pytest.mark.parametrize("log", [False, True])
def test_gradient_of_the_divergence(card: Library, how: str, log: bool) -> None:
    x = torch.log_softmax(torch.from_numpy(_random(3, 4)), -1).requires_grad_()
    target = torch.softmax(torch.from_numpy(_random(4, 3)).T.contiguous(), -1)
    given = target.log() if log else target
    loss = functional.kl_div(x, given, reduction=how, log_target=log)
    grad = torch.full_like(loss, 2.0)
    loss.backward(grad)
    inputs = [np.atleast_1d(grad.numpy()), x.detach().numpy(), given.numpy()]
    found = _run(card, "KlDivLossGrad", inputs, np.zeros((3, 4), np.float32), reduction=how, log_target=log)
    np.testing.assert_allclose(found, x.grad, rtol=1e-5, atol=1e-6)


def test_rows_of_experts_are_added_in_float16_step_by_step(card: Library) -> None:
    rng = np.random.default_rng(8)
    rows, skip, bias = (rng.random(shape).astype(np.float16) for shape in ((512, 8), (256, 8), (4, 8)))
    scales = rng.random((256, 2)).astype(np.float16)
    places = rng.permutation(512).astype(np.int32)
    chosen = rng.integers(0, 4, (256, 2)).astype(np.int32)
    out = card.run("aclnnMoeFinalizeRouting", rows, skip, None, bias, scales, places, chosen, np.zeros_like(skip))
    expected = skip.copy()
    for choice in range(2):
        part = rows[places.reshape(2, 256)[choice]] + bias[chosen[:, choice]]
        expected += scales[:, choice, None] * part
    np.testing.assert_array_equal(out, expected)


def test_quantised_weights_are_widened_in_the_type_of_the_other_matrix(card: Library) -> None:
    rng = np.random.default_rng(9)
    x, weight = rng.random((4, 8)).astype(np.float16), rng.integers(-8, 8, (8, 6)).astype(np.int8)
    scale, shift = rng.random(6).astype(np.float16), rng.random(6).astype(np.float16)
    out = card.run(
        "aclnnWeightQuantBatchMatmulV2", x, weight, scale, shift, None, None, None, 0, np.zeros((4, 6), np.float16)
    )
    narrow = (weight.astype(np.float16) + shift) * scale
    np.testing.assert_array_equal(out, (x.astype(np.float32) @ narrow.astype(np.float32)).astype(np.float16))
