"""Images, volumes and parts of tensors by type: operators that MindSpore's process computes with numpy."""

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


def _deformed(x: Any, moved: Any) -> Any:
    """Two groups, a kernel of two by two with step (1, 2), padding (0, 1) and dilation (2, 1), by `grid_sample`."""
    across, down, mask = moved.reshape(3, 2, 2, 2, 4, 3)
    base_y = torch.arange(2)[:, None, None, None] * 2 + torch.arange(4)[None, None, :, None]
    base_x = torch.arange(2)[None, :, None, None] + torch.arange(3)[None, None, None, :] * 2 - 1
    parts = []
    for group in range(2):
        places = [(base_x + across[group]) / (5 - 1), (base_y + down[group]) / (6 - 1)]
        grid = torch.stack([2 * one - 1 for one in places], -1).reshape(1, 8, 6, 2)
        found = functional.grid_sample(x[:, 2 * group : 2 * group + 2], grid, align_corners=True)
        parts.append(found.reshape(2, 2, 2, 4, 3) * mask[group])
    return torch.cat(parts).permute(0, 3, 1, 4, 2).reshape(1, 4, 8, 6)


def test_deformed_samples_and_their_gradients(card: Library) -> None:
    held = [torch.from_numpy(_random(*shape)).requires_grad_() for shape in ((1, 4, 6, 5), (1, 24, 4, 3))]
    out = _deformed(*held)
    given = [one.detach().numpy() for one in held]
    attributes = {"strides": [1, 1, 1, 2], "pads": [0, 0, 1, 1], "ksize": [2, 2], "dilations": [1, 1, 2, 1],
                  "deformable_groups": 2, "modulated": True, "data_format": "NCHW"}  # fmt: skip
    found = _run(card, "DeformableOffsets", given, np.zeros((1, 4, 8, 6), np.float32), **attributes)
    np.testing.assert_allclose(found, out.detach(), rtol=1e-4, atol=1e-5)
    grad = torch.from_numpy(_random(*out.shape))
    outs = [np.zeros_like(one) for one in given]
    assert card.by_type("DeformableOffsetsGrad", [grad.numpy(), *given], outs, **attributes) == 0, card.error()
    for one, expected in zip(outs, torch.autograd.grad(out, held, grad)):
        np.testing.assert_allclose(one, expected, rtol=1e-3, atol=1e-4)


def test_pooling_turned_round(card: Library) -> None:
    x = torch.from_numpy(_random(2, 3, 4, 6))
    small, places = functional.max_pool2d(x, 2, return_indices=True)
    grad = _random(2, 3, 6, 4).reshape(2, 3, 4, 6)
    found = _run(card, "CustMaxUnpool2D", [small.numpy(), places.numpy()], np.zeros_like(x.numpy()), data_format="NCHW")
    np.testing.assert_array_equal(found, functional.max_unpool2d(small, places, 2))
    back = _run(card, "MaxUnpool2DGrad", [small.numpy(), grad, places.numpy()], np.zeros_like(small.numpy()))
    np.testing.assert_array_equal(
        back.reshape(6, -1), np.take_along_axis(grad.reshape(6, -1), places.numpy().reshape(6, -1), 1)
    )
    turned = [np.ascontiguousarray(np.moveaxis(one.numpy(), 1, -1)) for one in (small, places)]
    last = _run(card, "MaxUnpool2D", turned, np.zeros((2, 4, 6, 3), np.float32), data_format="NHWC")
    np.testing.assert_array_equal(np.moveaxis(last, -1, 1), found)


def test_pooling_of_random_and_adaptive_windows(card: Library) -> None:
    x = torch.from_numpy(_random(2, 3, 5, 6, 7)).requires_grad_()
    samples = torch.rand(2, 3, 3, generator=torch.Generator().manual_seed(2))
    out, places = functional.fractional_max_pool3d(x, 2, (2, 3, 4), return_indices=True, _random_samples=samples)
    outs = [np.zeros(out.shape, np.float32), np.zeros(out.shape, np.int64)]
    given = [x.detach().numpy(), samples.numpy()]
    options = {"ksize": [2, 2, 2], "output_shape": [2, 3, 4], "data_format": "NCDHW"}
    assert card.by_type("FractionalMaxPool3DWithFixedKsize", given, outs, **options) == 0, card.error()
    np.testing.assert_array_equal(outs[0], out.detach())
    np.testing.assert_array_equal(outs[1], places)
    grad = _random(*out.shape)
    (expected,) = torch.autograd.grad(out, x, torch.from_numpy(grad))
    back = _run(card, "FractionalMaxPool3DGradWithFixedKsize", [given[0], grad, outs[1]], np.zeros_like(given[0]))
    np.testing.assert_allclose(back, expected, rtol=1e-6)
    pooled = functional.adaptive_avg_pool3d(x, (2, 4, 3))
    found = _run(card, "CustAdaptiveAvgPool3d", given[:1], np.zeros(pooled.shape, np.float32), output_size=[2, 4, 3])
    np.testing.assert_allclose(found, pooled.detach(), rtol=1e-5, atol=1e-6)
    slopes = _random(*pooled.shape)
    (expected,) = torch.autograd.grad(pooled, x, torch.from_numpy(slopes))
    back = _run(card, "AdaptiveAvgPool3dGrad", [slopes, np.array(x.shape)], np.zeros_like(given[0]))
    np.testing.assert_allclose(back, expected, rtol=1e-5, atol=1e-6)


def test_parts_of_tensors(card: Library) -> None:
    x = _random(2, 4, 3)
    index, grad = np.array([[[0, 2, 0]], [[1, 1, 1]]]), _random(2, 1, 3)
    found = _run(card, "GatherDGradV2", [x, index, grad], np.zeros_like(x), dim=1)
    wanted = torch.zeros(2, 4, 3).scatter_add(1, torch.from_numpy(index), torch.from_numpy(grad))
    np.testing.assert_allclose(found, wanted)
    mask = np.array([True, False, True])
    back = _run(card, "MaskedSelectGrad", [x[0, 0], mask, np.array([5, 6], np.float32)], np.zeros(3, np.float32))
    assert back.tolist() == [5, 0, 6]
    assert (
        _run(card, "NthElement", [x, np.array(1)], np.zeros((2, 4), np.float32), reverse=True)[0, 0]
        == np.sort(x[0, 0])[1]
    )
    image = torch.from_numpy(_random(1, 2, 5, 4))
    columns = functional.unfold(image, (2, 3), (2, 1), (1, 0), (1, 2))
    options = {"ksizes": [2, 3], "strides": [1, 2], "dilations": [2, 1], "padding_mode": "CALCULATED", "pads": [1, 0]}
    found = _run(card, "CustIm2col", [image.numpy()], np.zeros(columns.shape, np.float32), **options)
    wanted = functional.unfold(image, (2, 3), dilation=(2, 1), padding=(1, 0), stride=(1, 2))
    np.testing.assert_array_equal(found, wanted)
    seq = np.array([[1, 2, 1, 2, 1]], np.int32)
    blocked = _run(
        card, "NoRepeatNGram", [seq, np.zeros((1, 3), np.float32)], np.zeros((1, 3), np.float32), ngram_size=3
    )
    assert (blocked[0] < -1).tolist() == [False, False, True]


def test_images_are_resized(card: Library) -> None:
    x = torch.from_numpy(_random(1, 2, 5, 6))
    for corners in (False, True):
        wanted = functional.interpolate(x, (7, 4), mode="bicubic", align_corners=corners)
        options = {"align_corners": corners, "half_pixel_centers": not corners}
        found = _run(
            card, "CustResizeBicubic", [x.numpy(), np.array([7, 4])], np.zeros((1, 2, 7, 4), np.float32), **options
        )
        if corners:  # at half pixels the weights are others than torch's
            np.testing.assert_allclose(found, wanted, atol=5e-3)
        line = torch.from_numpy(_random(2, 3, 5)).requires_grad_()
        out = functional.interpolate(line, 8, mode="linear", align_corners=corners)
        how = {"mode": "linear", "coordinate_transformation_mode": "align_corners" if corners else "half_pixel"}
        found = _run(card, "ResizeD", [line.detach().numpy()], np.zeros((2, 3, 8), np.float32), **how)
        np.testing.assert_allclose(found, out.detach(), rtol=1e-5, atol=1e-6)
        grad = torch.from_numpy(_random(2, 3, 8))
        (expected,) = torch.autograd.grad(out, line, grad)
        found = _run(card, "ResizeGradD", [grad.numpy()], np.zeros((2, 3, 5), np.float32), **how)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    even = _run(card, "ResizeBicubic", [np.ones((1, 1, 4, 4), np.float32), np.array([9, 3])],
                np.zeros((1, 1, 9, 3), np.float32), half_pixel_centers=True)  # fmt: skip
    np.testing.assert_allclose(even, 1, rtol=1e-6)


def test_windows_are_folded_and_diagonals_set(card: Library) -> None:
    size = (5, 4)
    count = ((5 + 2 - 1 - 1) // 1 + 1) * ((4 + 2 - 2 - 1) // 1 + 1)
    windows = torch.from_numpy(_random(2, 12, count))
    expected = functional.fold(windows, size, (2, 3), padding=1)
    options = {"kernel_size": [2, 3], "stride": [1, 1], "dilation": [1, 1], "padding": [1, 1]}
    found = _run(card, "Col2im", [windows.numpy(), np.array(size)], np.zeros((2, 2, 5, 4), np.float32), **options)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    x, ones = _random(2, 3), np.broadcast_to(np.eye(3, dtype=np.float32), (2, 3, 3)).copy()
    matrix = _run(card, "MatrixDiagD", [x, ones], np.zeros((2, 3, 3), np.float32))
    np.testing.assert_array_equal(matrix, torch.diag_embed(torch.from_numpy(x)))
    np.testing.assert_array_equal(_run(card, "MatrixDiagPartD", [matrix, ones], np.zeros_like(x)), x)
    filled = _run(card, "MatrixSetDiagD", [np.ones_like(ones), x, ones], np.zeros_like(ones))
    assert filled[0, 0, 0] == x[0, 0] and filled[0, 0, 1] == 1
    assert _run(card, "Shape", [ones], np.zeros(3, np.int64)).tolist() == [2, 3, 3]


def test_gradients_of_resized_rows_of_pixels(card: Library) -> None:
    line = torch.from_numpy(_random(2, 3, 5)).requires_grad_()
    grad = torch.from_numpy(_random(2, 3, 8))
    (expected,) = torch.autograd.grad(functional.interpolate(line, 8, mode="linear"), line, grad)
    given = [grad.numpy()[:, :, None], line.detach().numpy()]
    found = _run(card, "ResizeBilinearV2Grad", given, np.zeros((2, 3, 5), np.float32), half_pixel_centers=True)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
