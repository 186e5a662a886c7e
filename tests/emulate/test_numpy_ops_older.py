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


def test_reflections_are_those_of_torch(card: Library) -> None:
    x, tau = torch.geqrf(torch.from_numpy(_random(2, 4, 3)))
    found = _run(card, "CustOrgqr", [x.contiguous().numpy(), tau.numpy()], np.zeros((2, 4, 3), np.float32))
    np.testing.assert_allclose(found, torch.linalg.householder_product(x, tau), rtol=1e-4, atol=1e-5)


def test_lu_factors_solve_and_come_apart(card: Library) -> None:
    matrix, right = torch.from_numpy(_random(2, 3, 3)), torch.from_numpy(_random(2, 3, 2))
    both, pivots = torch.linalg.lu_factor(matrix)
    given = [right.numpy(), both.contiguous().numpy(), pivots.numpy()]
    found = _run(card, "CustLuSolve", given, np.zeros((2, 3, 2), np.float32))
    np.testing.assert_allclose(found, torch.linalg.solve(matrix, right), rtol=1e-3, atol=1e-4)
    outs = [np.zeros((2, 3, 3), np.float32) for _ in range(3)]
    assert card.by_type("LuUnpack", given[1:], outs, unpack_data=True, unpack_pivots=True) == 0, card.error()
    for one, expected in zip(outs, torch.lu_unpack(both, pivots)):
        np.testing.assert_allclose(one, expected, rtol=1e-5)
    np.testing.assert_allclose(outs[0] @ outs[1] @ outs[2], matrix, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("turned", [0, 1])
@pytest.mark.parametrize("lower", [False, True])
def test_gradient_of_a_triangular_system(card: Library, turned: int, lower: bool) -> None:
    matrix = (torch.from_numpy(_random(3, 3)) + 3 * torch.eye(3)).requires_grad_()
    right = torch.from_numpy(_random(3, 2)).requires_grad_()
    part = torch.tril(matrix) if lower else torch.triu(matrix)
    x = torch.linalg.solve_triangular(part.T if turned else part, right, upper=lower == bool(turned))
    grad = torch.from_numpy(_random(2, 3).T.copy())
    expected = torch.autograd.grad(x, [matrix, right], grad)
    inputs = [matrix.detach().numpy(), x.detach().contiguous().numpy(), grad.numpy()]
    options = [np.array([turned]), np.array([lower]), np.array([False])]
    outs = [np.zeros((3, 3), np.float32), np.zeros((3, 2), np.float32)]
    assert card.by_type("SolveTriangularGrad", inputs + options, outs) == 0, card.error()
    for one, wanted in zip(outs, expected):
        np.testing.assert_allclose(one, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("power", [1.0, 1.5, 2.0, float("inf")])
def test_gradients_of_distances(card: Library, power: float) -> None:
    x, other = (torch.from_numpy(_random(*shape)).requires_grad_() for shape in ((4, 3), (5, 3)))
    found = torch.cdist(x, other, power)
    grad = torch.from_numpy(_random(4, 5))
    (expected,) = torch.autograd.grad(found, x, grad)
    inputs = [one.detach().numpy() for one in (grad, x, other, found)]
    out = _run(card, "CdistGrad", inputs, np.zeros((4, 3), np.float32), p=power)
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-5)
    pairs = torch.pdist(x, power)
    slopes = torch.from_numpy(_random(6))
    (expected,) = torch.autograd.grad(pairs, x, slopes)
    inputs = [one.detach().numpy() for one in (slopes, x, pairs)]
    out = _run(card, "CustPdistGrad", inputs, np.zeros((4, 3), np.float32), p=power)
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-5)


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


def test_special_functions_and_windows(card: Library) -> None:
    x = torch.linspace(2, 6, 5).requires_grad_()
    out = torch.special.multigammaln(x, 3)
    found = _run(card, "CustMvlgamma", [x.detach().numpy()], np.zeros(5, np.float32), p=3)
    np.testing.assert_allclose(found, out.detach(), rtol=1e-5)
    (expected,) = torch.autograd.grad(out.sum(), x)
    found = _run(card, "MvlgammaGrad", [np.ones(5, np.float32), x.detach().numpy()], np.zeros(5, np.float32), p=3)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    for periodic in (True, False):
        for kind, wanted in (("Bartlett", torch.bartlett_window), ("Blackman", torch.blackman_window)):
            window = _run(card, f"{kind}Window", [np.array([7])], np.zeros(7, np.float32), periodic=periodic)
            np.testing.assert_allclose(window, wanted(7, periodic=periodic), atol=1e-6)
        window = _run(card, "HammingWindow", [np.array([7])], np.zeros(7, np.float32), periodic=periodic,
                      alpha=0.5, beta=0.4)  # fmt: skip
        np.testing.assert_allclose(window, torch.hamming_window(7, periodic, 0.5, 0.4), atol=1e-6)
    steps = _run(card, "Eps", [np.ones(2, np.float16)], np.zeros(2, np.float16))
    assert steps[0] == np.finfo(np.float16).eps
    assert _run(card, "LogSpace", [np.ones(1, np.float32), np.full(1, 3, np.float32)], np.zeros(3, np.float32),
                steps=3, base=10)[2] == 1000  # fmt: skip


@pytest.mark.parametrize("add", [0, 1])
def test_values_are_put_where_indices_say(card: Library, add: int) -> None:
    x, rows, columns = _random(4, 3), np.array([0, 2, 0]), np.array([1, 1, 1])
    values = np.array([5, 6, 7], np.float32)
    expected = torch.from_numpy(x.copy()).index_put((torch.from_numpy(rows), torch.from_numpy(columns)),
                                                   torch.from_numpy(values), accumulate=bool(add))  # fmt: skip
    found = _run(card, "CustIndexPut", [x, values, rows, columns], np.zeros_like(x), accumulate=add)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    whole = _run(card, "IndexPut", [x, values, np.array([1, 3])], np.zeros_like(x), accumulate=add)
    np.testing.assert_allclose(whole[3], x[3] + values if add else values, rtol=1e-6)


def test_rows_and_columns_are_matched(card: Library) -> None:
    cost = np.array([[4, 1, 3], [2, 0, 5], [3, 2, 2]], np.float64)
    outs = [np.zeros(3, np.int64), np.zeros(3, np.int64)]
    given = [cost, np.array([2**63 - 1]), np.array([False])]
    assert card.by_type("CustLinearSumAssignment", given, outs) == 0, card.error()
    assert outs[1].tolist() == [1, 0, 2] and cost[outs[0], outs[1]].sum() == 5
    given[1] = np.array([2])
    assert card.by_type("LinearSumAssignment", given, outs) == 0, card.error()
    assert outs[0].tolist() == [0, 1, -1]


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


def test_slices_of_batches_are_gathered(card: Library) -> None:
    x, index = _random(2, 3, 4, 5), np.array([[2, 0], [1, 1]])
    out = np.zeros((2, 3, 2, 5), np.float32)
    assert card.by_type("GatherV2", [x, index, np.array([2])], [out], batch_dims=1) == 0, card.error()
    for row in range(2):
        np.testing.assert_array_equal(out[row], x[row][:, index[row]])


def test_an_index_that_chooses_nothing_writes_nothing(card: Library) -> None:
    x, room = _random(2, 3), np.zeros(1, np.int64)
    whole, nothing = np.zeros((0,) * 9, np.int64), room[:0]
    before = x.copy()
    assert card.call("aclnnIndexPutImpl", x, [nothing], np.ones(1, np.float32), False, False) == 0, card.error()
    np.testing.assert_array_equal(x, before)
    assert card.call("aclnnIndexPutImpl", x, [whole, np.array([1])], np.ones(1, np.float32), False, False) == 0
    assert x[:, 1].tolist() == [1, 1] and x[0, 0] == before[0, 0]


def test_steps_of_large_batches(card: Library) -> None:
    weight, grad = _random(4, 2), _random(2, 4).reshape(4, 2)
    sums = [np.array((one**2).sum(), np.float32).reshape(1) for one in (weight, grad)]
    given = [weight, grad, *sums, np.array([0.01], np.float32), np.array([0.1], np.float32)]
    found = _run(card, "LarsV2Update", given, np.zeros_like(weight), epsilon=1e-5, hyperpara=0.001, use_clip=False)
    norms = [float(np.sqrt(one[0])) for one in sums]
    factor = 0.001 * norms[0] / (norms[1] + 0.01 * norms[0] + 1e-5)
    np.testing.assert_allclose(found, factor * (grad + 0.01 * weight), rtol=1e-5)
    param = weight.copy()
    scale = np.array([2], np.float32), np.array([4], np.float32), np.array([0.5], np.float32)
    out = _run(card, "LambApplyWeightAssign", [*scale, grad, param], np.zeros_like(param))
    np.testing.assert_allclose(out, weight - 0.25 * grad, rtol=1e-6)
    np.testing.assert_array_equal(param, out)


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("how", ["none", "mean", "sum"])
def test_loss_of_margins(card: Library, power: int, how: str) -> None:
    x = torch.from_numpy(_random(4, 3)).requires_grad_()
    target, weight = torch.tensor([0, 2, 1, 1]), torch.tensor([0.5, 1.0, 2.0])
    out = functional.multi_margin_loss(x, target, power, 0.7, weight, reduction=how)
    grad = torch.ones_like(out) * 3
    (expected,) = torch.autograd.grad(out, x, grad)
    options = {"p": power, "margin": 0.7, "reduction": how}
    given = [x.detach().numpy(), target.numpy(), weight.numpy()]
    found = _run(card, "CustMultiMarginLoss", given, np.zeros(out.shape, np.float32), **options)
    np.testing.assert_allclose(found, out.detach(), rtol=1e-5)
    back = _run(card, "MultiMarginLossGrad", [grad.numpy(), *given], np.zeros((4, 3), np.float32), **options)
    np.testing.assert_allclose(back, expected, rtol=1e-5, atol=1e-6)


def test_cosine_transforms_are_those_of_scipy(card: Library) -> None:
    fft = pytest.importorskip("scipy.fft")
    x = _random(2, 5)
    for norm, name in ((0, "backward"), (2, "ortho")):
        found = _run(card, "CustDCT", [x], np.zeros_like(x), type=2, n=5, axis=-1, norm=norm, forward=True, grad=False)
        np.testing.assert_allclose(found, fft.dct(x, norm=name), rtol=1e-4, atol=1e-5)
    back = _run(card, "DCT", [x], np.zeros_like(x), type=2, n=5, axis=-1, norm=2, forward=False, grad=False)
    np.testing.assert_allclose(back, fft.idct(x, norm="ortho"), rtol=1e-4, atol=1e-5)


def test_slices_go_backwards(card: Library) -> None:
    x = _random(5, 4)
    cases = [((4, 3), (0, -5), (-2, -1), 0), ((-1, 0), (-6, 4), (-1, 3), 0), ((0, 1), (0, 3), (-1, 1), 1)]
    for begin, end, step, mask in cases:
        first = slice(None, None, -1) if mask else slice(begin[0], None if end[0] == -6 else end[0], step[0])
        wanted = x[first, slice(begin[1], None if end[1] == -5 else end[1], step[1])]
        given = [x, np.array(begin), np.array(end), np.array(step)]
        found = _run(card, "StridedSlice", given, np.zeros(wanted.shape, np.float32), begin_mask=mask, end_mask=mask)
        np.testing.assert_array_equal(found, wanted)


def test_bits_of_dropout_fill_their_room(card: Library) -> None:
    given = [np.array([2, 4, 2, 2]), np.ones(1, np.float32)]
    assert (_run(card, "DropOutGenMask", given, np.zeros(16, np.uint8), seed=10, seed2=28) == 255).all()


def test_a_number_is_assigned_to_one_without_axes(card: Library) -> None:
    target = np.zeros((), np.float32)
    assert card.by_type("Assign", [target, np.ones(1, np.float32)], [target]) == 0, card.error()
    assert target == 1


def test_an_index_beyond_the_end_is_refused(card: Library) -> None:
    given = [_random(3), np.array([4]), np.array([0])]
    assert card.by_type("GatherV2", given, [np.zeros(1, np.float32)], batch_dims=0) == 100000
    assert "what a card reads at index 4 of 3 is not emulated" in card.error()


def test_weights_of_single_losses_are_not_added_up(card: Library) -> None:
    x, target, weight = _random(3, 4), np.array([1, 0, 3]), np.ones(4, np.float32)
    total = np.ones((), np.float32)
    card.run("aclnnNLLLoss", x, target, weight, 0, -100, np.zeros(3, np.float32), total)
    assert total == 0
    card.run("aclnnNLLLoss", x, target, weight, 2, -100, np.zeros((), np.float32), total)
    assert total == 3


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
