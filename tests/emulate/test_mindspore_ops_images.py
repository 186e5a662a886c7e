"""Images, volumes and parts of tensors by type: operators that MindSpore's process computes with numpy."""

from __future__ import annotations

import colorsys
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as functional
from stand_ins import Library, drawn, run

pytestmark = pytest.mark.usefixtures("numpy_kernels")


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
    held = [torch.from_numpy(drawn(*shape)).requires_grad_() for shape in ((1, 4, 6, 5), (1, 24, 4, 3))]
    out = _deformed(*held)
    given = [one.detach().numpy() for one in held]
    attributes = {"strides": [1, 1, 1, 2], "pads": [0, 0, 1, 1], "ksize": [2, 2], "dilations": [1, 1, 2, 1],
                  "deformable_groups": 2, "modulated": True, "data_format": "NCHW"}  # fmt: skip
    found = run(card, "DeformableOffsets", given, np.zeros((1, 4, 8, 6), np.float32), **attributes)
    np.testing.assert_allclose(found, out.detach(), rtol=1e-4, atol=1e-5)
    grad = torch.from_numpy(drawn(*out.shape))
    outs = [np.zeros_like(one) for one in given]
    assert card.by_type("DeformableOffsetsGrad", [grad.numpy(), *given], outs, **attributes) == 0, card.error()
    for one, expected in zip(outs, torch.autograd.grad(out, held, grad)):
        np.testing.assert_allclose(one, expected, rtol=1e-3, atol=1e-4)


def test_pooling_turned_round(card: Library) -> None:
    x = torch.from_numpy(drawn(2, 3, 4, 6))
    small, places = functional.max_pool2d(x, 2, return_indices=True)
    grad = drawn(2, 3, 6, 4).reshape(2, 3, 4, 6)
    found = run(card, "CustMaxUnpool2D", [small.numpy(), places.numpy()], np.zeros_like(x.numpy()), data_format="NCHW")
    np.testing.assert_array_equal(found, functional.max_unpool2d(small, places, 2))
    back = run(card, "MaxUnpool2DGrad", [small.numpy(), grad, places.numpy()], np.zeros_like(small.numpy()))
    np.testing.assert_array_equal(
        back.reshape(6, -1), np.take_along_axis(grad.reshape(6, -1), places.numpy().reshape(6, -1), 1)
    )
    turned = [np.ascontiguousarray(np.moveaxis(one.numpy(), 1, -1)) for one in (small, places)]
    last = run(card, "MaxUnpool2D", turned, np.zeros((2, 4, 6, 3), np.float32), data_format="NHWC")
    np.testing.assert_array_equal(np.moveaxis(last, -1, 1), found)


def test_pooling_of_random_and_adaptive_windows(card: Library) -> None:
    x = torch.from_numpy(drawn(2, 3, 5, 6, 7)).requires_grad_()
    samples = torch.rand(2, 3, 3, generator=torch.Generator().manual_seed(2))
    out, places = functional.fractional_max_pool3d(x, 2, (2, 3, 4), return_indices=True, _random_samples=samples)
    outs = [np.zeros(out.shape, np.float32), np.zeros(out.shape, np.int64)]
    given = [x.detach().numpy(), samples.numpy()]
    options = {"ksize": [2, 2, 2], "output_shape": [2, 3, 4], "data_format": "NCDHW"}
    assert card.by_type("FractionalMaxPool3DWithFixedKsize", given, outs, **options) == 0, card.error()
    np.testing.assert_array_equal(outs[0], out.detach())
    np.testing.assert_array_equal(outs[1], places)
    grad = drawn(*out.shape)
    (expected,) = torch.autograd.grad(out, x, torch.from_numpy(grad))
    back = run(card, "FractionalMaxPool3DGradWithFixedKsize", [given[0], grad, outs[1]], np.zeros_like(given[0]))
    np.testing.assert_allclose(back, expected, rtol=1e-6)
    pooled = functional.adaptive_avg_pool3d(x, (2, 4, 3))
    found = run(card, "CustAdaptiveAvgPool3d", given[:1], np.zeros(pooled.shape, np.float32), output_size=[2, 4, 3])
    np.testing.assert_allclose(found, pooled.detach(), rtol=1e-5, atol=1e-6)
    slopes = drawn(*pooled.shape)
    (expected,) = torch.autograd.grad(pooled, x, torch.from_numpy(slopes))
    back = run(card, "AdaptiveAvgPool3dGrad", [slopes, np.array(x.shape)], np.zeros_like(given[0]))
    np.testing.assert_allclose(back, expected, rtol=1e-5, atol=1e-6)


def test_parts_of_tensors(card: Library) -> None:
    x = drawn(2, 4, 3)
    index, grad = np.array([[[0, 2, 0]], [[1, 1, 1]]]), drawn(2, 1, 3)
    found = run(card, "GatherDGradV2", [x, index, grad], np.zeros_like(x), dim=1)
    wanted = torch.zeros(2, 4, 3).scatter_add(1, torch.from_numpy(index), torch.from_numpy(grad))
    np.testing.assert_allclose(found, wanted)
    mask = np.array([True, False, True])
    back = run(card, "MaskedSelectGrad", [x[0, 0], mask, np.array([5, 6], np.float32)], np.zeros(3, np.float32))
    assert back.tolist() == [5, 0, 6]
    assert (
        run(card, "NthElement", [x, np.array(1)], np.zeros((2, 4), np.float32), reverse=True)[0, 0]
        == np.sort(x[0, 0])[1]
    )
    image = torch.from_numpy(drawn(1, 2, 5, 4))
    columns = functional.unfold(image, (2, 3), (2, 1), (1, 0), (1, 2))
    options = {"ksizes": [2, 3], "strides": [1, 2], "dilations": [2, 1], "padding_mode": "CALCULATED", "pads": [1, 0]}
    found = run(card, "CustIm2col", [image.numpy()], np.zeros(columns.shape, np.float32), **options)
    wanted = functional.unfold(image, (2, 3), dilation=(2, 1), padding=(1, 0), stride=(1, 2))
    np.testing.assert_array_equal(found, wanted)
    seq = np.array([[1, 2, 1, 2, 1]], np.int32)
    blocked = run(
        card, "NoRepeatNGram", [seq, np.zeros((1, 3), np.float32)], np.zeros((1, 3), np.float32), ngram_size=3
    )
    assert (blocked[0] < -1).tolist() == [False, False, True]


def test_images_are_resized(card: Library) -> None:
    x = torch.from_numpy(drawn(1, 2, 5, 6))
    for corners in (False, True):
        wanted = functional.interpolate(x, (7, 4), mode="bicubic", align_corners=corners)
        options = {"align_corners": corners, "half_pixel_centers": not corners}
        found = run(
            card, "CustResizeBicubic", [x.numpy(), np.array([7, 4])], np.zeros((1, 2, 7, 4), np.float32), **options
        )
        if corners:  # at half pixels the weights are others than torch's
            np.testing.assert_allclose(found, wanted, atol=5e-3)
        line = torch.from_numpy(drawn(2, 3, 5)).requires_grad_()
        out = functional.interpolate(line, 8, mode="linear", align_corners=corners)
        how = {"mode": "linear", "coordinate_transformation_mode": "align_corners" if corners else "half_pixel"}
        found = run(card, "ResizeD", [line.detach().numpy()], np.zeros((2, 3, 8), np.float32), **how)
        np.testing.assert_allclose(found, out.detach(), rtol=1e-5, atol=1e-6)
        grad = torch.from_numpy(drawn(2, 3, 8))
        (expected,) = torch.autograd.grad(out, line, grad)
        found = run(card, "ResizeGradD", [grad.numpy()], np.zeros((2, 3, 5), np.float32), **how)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    even = run(card, "ResizeBicubic", [np.ones((1, 1, 4, 4), np.float32), np.array([9, 3])],
                np.zeros((1, 1, 9, 3), np.float32), half_pixel_centers=True)  # fmt: skip
    np.testing.assert_allclose(even, 1, rtol=1e-6)


def test_windows_are_folded_and_diagonals_set(card: Library) -> None:
    size = (5, 4)
    count = ((5 + 2 - 1 - 1) // 1 + 1) * ((4 + 2 - 2 - 1) // 1 + 1)
    windows = torch.from_numpy(drawn(2, 12, count))
    expected = functional.fold(windows, size, (2, 3), padding=1)
    options = {"kernel_size": [2, 3], "stride": [1, 1], "dilation": [1, 1], "padding": [1, 1]}
    found = run(card, "Col2im", [windows.numpy(), np.array(size)], np.zeros((2, 2, 5, 4), np.float32), **options)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    x, ones = drawn(2, 3), np.broadcast_to(np.eye(3, dtype=np.float32), (2, 3, 3)).copy()
    matrix = run(card, "MatrixDiagD", [x, ones], np.zeros((2, 3, 3), np.float32))
    np.testing.assert_array_equal(matrix, torch.diag_embed(torch.from_numpy(x)))
    np.testing.assert_array_equal(run(card, "MatrixDiagPartD", [matrix, ones], np.zeros_like(x)), x)
    filled = run(card, "MatrixSetDiagD", [np.ones_like(ones), x, ones], np.zeros_like(ones))
    assert filled[0, 0, 0] == x[0, 0] and filled[0, 0, 1] == 1
    assert run(card, "Shape", [ones], np.zeros(3, np.int64)).tolist() == [2, 3, 3]


def test_gradients_of_resized_rows_of_pixels(card: Library) -> None:
    line = torch.from_numpy(drawn(2, 3, 5)).requires_grad_()
    grad = torch.from_numpy(drawn(2, 3, 8))
    (expected,) = torch.autograd.grad(functional.interpolate(line, 8, mode="linear"), line, grad)
    given = [grad.numpy()[:, :, None], line.detach().numpy()]
    found = run(card, "ResizeBilinearV2Grad", given, np.zeros((2, 3, 5), np.float32), half_pixel_centers=True)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_boxes_in_their_order(card: Library) -> None:
    rows = np.array([[0, 0, 2, 2, 0.5], [0, 0, 2, 1.9, 0.9], [5, 5, 6, 6, 0.3]], np.float32)
    outs = [np.zeros_like(rows), np.zeros(3, np.int32), np.zeros(3, bool)]
    run(card, "NMSWithMask", [rows], *outs, iou_threshold=0.5)
    np.testing.assert_array_equal(outs[0], rows)
    assert outs[1].tolist() == [0, 1, 2] and outs[2].tolist() == [True, False, True]


def test_crops_change_with_their_boxes(card: Library) -> None:
    image, boxes = drawn(2, 6, 7, 3), np.array([[0.12, 0.2, 0.73, 0.87], [0.31, 0.11, 0.84, 0.67]], np.float32)
    which, size, grad = np.array([1, 0], np.int32), np.array([3, 4], np.int32), drawn(2, 3, 4, 3)

    def cropped(corners: Any) -> float:
        given = [image, corners.astype(np.float32), which, size]
        crops = run(card, "CropAndResize", given, np.zeros((2, 3, 4, 3), np.float32), method="bilinear")
        return float((crops.astype(np.float64) * grad).sum())

    found = run(card, "CropAndResizeGradBoxes", [grad, image, boxes, which], np.zeros((2, 4), np.float32))
    for place in np.ndindex(2, 4):
        shift = np.zeros((2, 4))
        shift[place] = 1e-3
        slope = (cropped(boxes + shift) - cropped(boxes - shift)) / 2e-3
        np.testing.assert_allclose(found[place], slope, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("pseudo", [False, True])
@pytest.mark.parametrize("overlapping", [False, True])
def test_cells_of_unequal_sizes(card: Library, overlapping: bool, pseudo: bool) -> None:
    x = drawn(2, 7, 9, 3)
    options = {"overlapping": overlapping, "pseudo_random": pseudo, "seed": 3}
    out, rows, columns = np.zeros((2, 4, 5, 3), np.float32), np.zeros(5, np.int64), np.zeros(6, np.int64)
    run(card, "FractionalMaxPool", [x], out, rows, columns, **options)
    assert rows[0] == columns[0] == 0 and rows[-1] == 7 and columns[-1] == 9
    assert set(np.diff(rows)) | set(np.diff(columns)) <= {1, 2}
    wide = int(overlapping)
    for line, column in np.ndindex(4, 5):
        cell = x[:, rows[line] : rows[line + 1] + wide, columns[column] : columns[column + 1] + wide]
        np.testing.assert_array_equal(out[:, line, column], cell.max((1, 2)))
    grad = np.ones_like(out)
    back = run(card, "FractionalMaxPoolGrad", [x, out, grad, rows, columns], np.zeros_like(x), **options)
    np.testing.assert_allclose((back * x).sum(), out.sum(), rtol=1e-4)
    shape = np.array(x.shape)
    back = run(card, "FractionalAvgPoolGrad", [shape, grad, rows, columns], np.zeros_like(x), **options)
    mean = np.zeros_like(out)
    run(card, "FractionalAvgPool", [x], mean, np.zeros_like(rows), np.zeros_like(columns), **options)
    np.testing.assert_allclose((back * x).sum(), mean.sum(), rtol=1e-3, atol=1e-4)


def test_gradient_of_bicubic_pictures(card: Library) -> None:
    x, grad = drawn(1, 2, 4, 5), drawn(1, 2, 7, 3)
    size = np.array([7, 3], np.int32)
    for half in (False, True):
        out = run(card, "ResizeBicubic", [x, size], np.zeros_like(grad), half_pixel_centers=half)
        back = run(card, "ResizeBicubicGrad", [grad, x], np.zeros_like(x), half_pixel_centers=half)
        np.testing.assert_allclose((back * x).sum(), (out * grad).sum(), rtol=1e-3, atol=1e-4)


def test_boxes_in_a_picture_and_the_best_of_those_that_overlap(card: Library) -> None:
    boxes = np.linspace(0, 6, 12).reshape(3, 4).astype(np.float32)
    inside = run(card, "CheckValid", [boxes, np.array([2, 1, 3], np.float32)], np.zeros(3, bool))
    assert inside.tolist() == [True, False, False]
    boxes = np.array([[0, 0, 2, 2], [0, 0, 2, 1.9], [5, 5, 6, 6], [2, 2, 0, 0]], np.float32)
    scores = np.array([0.5, 0.9, 0.3, 0.1], np.float32)
    limits = [np.array([4], np.int32), np.array([0.5], np.float32), np.array([0.2], np.float32)]
    found = run(card, "NonMaxSuppressionV3", [boxes, scores, *limits], np.full(2, -1, np.int32))
    assert found.tolist() == [1, 2]
    table = np.eye(4, dtype=np.float32)
    found = run(card, "NonMaxSuppressionWithOverlaps", [table, scores, *limits], np.full(3, -1, np.int32))
    assert found.tolist() == [1, 0, 2]


def test_colours(card: Library) -> None:
    x = np.random.default_rng(3).random((4, 5, 3)).astype(np.float32)
    expected = np.array([colorsys.rgb_to_hsv(*map(float, one)) for one in x.reshape(-1, 3)]).reshape(x.shape)
    np.testing.assert_allclose(run(card, "RGBToHSV", [x], np.zeros_like(x)), expected, rtol=1e-4, atol=1e-5)
    for kind, at, value in (("AdjustHue", 0, 0.3), ("AdjustSaturation", 1, 0.4)):
        changed = expected.copy()
        changed[..., at] = (changed[..., 0] + value) % 1 if at == 0 else changed[..., 1] * value
        wanted = np.array([colorsys.hsv_to_rgb(*one) for one in changed.reshape(-1, 3)]).reshape(x.shape)
        found = run(card, kind, [x, np.array([value], np.float32)], np.zeros_like(x))
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_a_picture_shrinks_to_the_means_of_areas(card: Library) -> None:
    x = drawn(2, 6, 4, 3)
    found = run(card, "ResizeArea", [x, np.array([3, 2], np.int32)], np.zeros((2, 3, 2, 3), np.float32))
    np.testing.assert_allclose(found, x.reshape(2, 3, 2, 2, 2, 3).mean((2, 4)), rtol=1e-5, atol=1e-6)
    row = np.arange(3, dtype=np.float32).reshape(1, 1, 3, 1)
    found = run(card, "ResizeArea", [row, np.array([1, 2], np.int32)], np.zeros((1, 1, 2, 1), np.float32))
    np.testing.assert_allclose(found.reshape(-1), [1 / 3, 5 / 3], rtol=1e-6)
