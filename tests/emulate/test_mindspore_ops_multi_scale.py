"""Multi-scale deformable attention and its gradient, against torch's samples between pixels."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from stand_ins import Library
from torch import Tensor
from torch.nn import functional

pytestmark = pytest.mark.usefixtures("numpy_kernels")
_SHAPES = [(4, 6), (2, 3)]


def _formula(value: Tensor, places: Tensor, weights: Tensor) -> Tensor:
    batch, _, heads, size = value.shape
    found = torch.zeros(batch * heads, size, places.shape[1])
    pictures = value.split([height * width for height, width in _SHAPES], 1)
    for level, (height, width) in enumerate(_SHAPES):
        picture = pictures[level].permute(0, 2, 3, 1).reshape(batch * heads, size, height, width)
        grid = 2 * places[:, :, :, level].transpose(1, 2).flatten(0, 1) - 1
        sampled = functional.grid_sample(picture, grid, align_corners=False)
        found = found + (sampled * weights[:, :, :, level].transpose(1, 2).flatten(0, 1)[:, None]).sum(-1)
    return found.view(batch, heads * size, -1).transpose(1, 2)


@pytest.mark.parametrize("points", [1, 3])
@pytest.mark.parametrize("turned", [False, True])
def test_places_of_several_pictures(card: Library, points: int, turned: bool) -> None:
    torch.manual_seed(points)
    value = torch.randn(2, 30, 3, 8, requires_grad=True)
    places = (torch.rand(2, 5, 3, 2, points, 2) * 1.4 - 0.2).requires_grad_()  # some lie outside
    weights = torch.rand(2, 5, 3, 2, points, requires_grad=True)
    expected = _formula(value, places, weights)
    grad = torch.randn_like(expected)
    gradients = torch.autograd.grad(expected, (value, places, weights), grad)
    shapes, starts = np.array(_SHAPES, np.int32), np.array([0, 24], np.int32)
    given = [one.detach().numpy() for one in (value, places, weights)]
    out = card.run("aclnnMultiScaleDeformableAttnFunction", given[0], shapes, starts, *given[1:],
                   np.zeros(expected.shape, np.float32))  # fmt: skip
    np.testing.assert_allclose(out, expected.detach(), rtol=1e-4, atol=1e-5)
    given[1] = np.ascontiguousarray(given[1].swapaxes(-1, -2)) if turned else given[1]
    outs = [np.zeros_like(one) for one in given]
    name = "aclnnMultiScaleDeformableAttentionGrad"
    assert card.call(name, given[0], shapes, starts, *given[1:], grad.numpy(), *outs) == 0, card.error()
    outs[1] = outs[1].swapaxes(-1, -2) if turned else outs[1]
    for one, other in zip(outs, gradients):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)
