"""Operators of the older interface that MindSpore's process computes with numpy, called as a framework does."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as functional
from stand_ins import Library, drawn, run

pytestmark = pytest.mark.usefixtures("numpy_kernels")


@pytest.mark.parametrize("how", ["none", "batchmean", "sum"])
@pytest.mark.parametrize("log", [False, True])
def test_gradient_of_the_divergence(card: Library, how: str, log: bool) -> None:
    x = torch.log_softmax(torch.from_numpy(drawn(3, 4)), -1).requires_grad_()
    target = torch.softmax(torch.from_numpy(drawn(4, 3)).T.contiguous(), -1)
    given = target.log() if log else target
    loss = functional.kl_div(x, given, reduction=how, log_target=log)
    grad = torch.full_like(loss, 2.0)
    loss.backward(grad)
    inputs = [np.atleast_1d(grad.numpy()), x.detach().numpy(), given.numpy()]
    found = run(card, "KlDivLossGrad", inputs, np.zeros((3, 4), np.float32), reduction=how, log_target=log)
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
    x, tau = torch.geqrf(torch.from_numpy(drawn(2, 4, 3)))
    found = run(card, "CustOrgqr", [x.contiguous().numpy(), tau.numpy()], np.zeros((2, 4, 3), np.float32))
    np.testing.assert_allclose(found, torch.linalg.householder_product(x, tau), rtol=1e-4, atol=1e-5)


def test_lu_factors_solve_and_come_apart(card: Library) -> None:
    matrix, right = torch.from_numpy(drawn(2, 3, 3)), torch.from_numpy(drawn(2, 3, 2))
    both, pivots = torch.linalg.lu_factor(matrix)
    given = [right.numpy(), both.contiguous().numpy(), pivots.numpy()]
    found = run(card, "CustLuSolve", given, np.zeros((2, 3, 2), np.float32))
    np.testing.assert_allclose(found, torch.linalg.solve(matrix, right), rtol=1e-3, atol=1e-4)
    outs = [np.zeros((2, 3, 3), np.float32) for _ in range(3)]
    assert card.by_type("LuUnpack", given[1:], outs, unpack_data=True, unpack_pivots=True) == 0, card.error()
    for one, expected in zip(outs, torch.lu_unpack(both, pivots)):
        np.testing.assert_allclose(one, expected, rtol=1e-5)
    np.testing.assert_allclose(outs[0] @ outs[1] @ outs[2], matrix, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("turned", [0, 1])
@pytest.mark.parametrize("lower", [False, True])
def test_gradient_of_a_triangular_system(card: Library, turned: int, lower: bool) -> None:
    matrix = (torch.from_numpy(drawn(3, 3)) + 3 * torch.eye(3)).requires_grad_()
    right = torch.from_numpy(drawn(3, 2)).requires_grad_()
    part = torch.tril(matrix) if lower else torch.triu(matrix)
    x = torch.linalg.solve_triangular(part.T if turned else part, right, upper=lower == bool(turned))
    grad = torch.from_numpy(drawn(2, 3).T.copy())
    expected = torch.autograd.grad(x, [matrix, right], grad)
    inputs = [matrix.detach().numpy(), x.detach().contiguous().numpy(), grad.numpy()]
    options = [np.array([turned]), np.array([lower]), np.array([False])]
    outs = [np.zeros((3, 3), np.float32), np.zeros((3, 2), np.float32)]
    assert card.by_type("SolveTriangularGrad", inputs + options, outs) == 0, card.error()
    for one, wanted in zip(outs, expected):
        np.testing.assert_allclose(one, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("power", [1.0, 1.5, 2.0, float("inf")])
def test_gradients_of_distances(card: Library, power: float) -> None:
    x, other = (torch.from_numpy(drawn(*shape)).requires_grad_() for shape in ((4, 3), (5, 3)))
    found = torch.cdist(x, other, power)
    grad = torch.from_numpy(drawn(4, 5))
    (expected,) = torch.autograd.grad(found, x, grad)
    inputs = [one.detach().numpy() for one in (grad, x, other, found)]
    out = run(card, "CdistGrad", inputs, np.zeros((4, 3), np.float32), p=power)
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-5)
    pairs = torch.pdist(x, power)
    distances = run(card, "Pdist", [x.detach().numpy()], np.zeros(6, np.float32), p=power)
    np.testing.assert_allclose(distances, pairs.detach(), rtol=1e-5)
    slopes = torch.from_numpy(drawn(6))
    (expected,) = torch.autograd.grad(pairs, x, slopes)
    inputs = [one.detach().numpy() for one in (slopes, x, pairs)]
    out = run(card, "CustPdistGrad", inputs, np.zeros((4, 3), np.float32), p=power)
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-5)


def test_special_functions_and_windows(card: Library) -> None:
    x = torch.linspace(2, 6, 5).requires_grad_()
    out = torch.special.multigammaln(x, 3)
    found = run(card, "CustMvlgamma", [x.detach().numpy()], np.zeros(5, np.float32), p=3)
    np.testing.assert_allclose(found, out.detach(), rtol=1e-5)
    (expected,) = torch.autograd.grad(out.sum(), x)
    found = run(card, "MvlgammaGrad", [np.ones(5, np.float32), x.detach().numpy()], np.zeros(5, np.float32), p=3)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    for periodic in (True, False):
        for kind, wanted in (("Bartlett", torch.bartlett_window), ("Blackman", torch.blackman_window)):
            window = run(card, f"{kind}Window", [np.array([7])], np.zeros(7, np.float32), periodic=periodic)
            np.testing.assert_allclose(window, wanted(7, periodic=periodic), atol=1e-6)
        window = run(card, "HammingWindow", [np.array([7])], np.zeros(7, np.float32), periodic=periodic,
                      alpha=0.5, beta=0.4)  # fmt: skip
        np.testing.assert_allclose(window, torch.hamming_window(7, periodic, 0.5, 0.4), atol=1e-6)
    steps = run(card, "Eps", [np.ones(2, np.float16)], np.zeros(2, np.float16))
    assert steps[0] == np.finfo(np.float16).eps
    assert run(card, "LogSpace", [np.ones(1, np.float32), np.full(1, 3, np.float32)], np.zeros(3, np.float32),
                steps=3, base=10)[2] == 1000  # fmt: skip


@pytest.mark.parametrize("add", [0, 1])
def test_values_are_put_where_indices_say(card: Library, add: int) -> None:
    x, rows, columns = drawn(4, 3), np.array([0, 2, 0]), np.array([1, 1, 1])
    values = np.array([5, 6, 7], np.float32)
    expected = torch.from_numpy(x.copy()).index_put((torch.from_numpy(rows), torch.from_numpy(columns)),
                                                   torch.from_numpy(values), accumulate=bool(add))  # fmt: skip
    found = run(card, "CustIndexPut", [x, values, rows, columns], np.zeros_like(x), accumulate=add)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    whole = run(card, "IndexPut", [x, values, np.array([1, 3])], np.zeros_like(x), accumulate=add)
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


def test_slices_of_batches_are_gathered(card: Library) -> None:
    x, index = drawn(2, 3, 4, 5), np.array([[2, 0], [1, 1]])
    out = np.zeros((2, 3, 2, 5), np.float32)
    assert card.by_type("GatherV2", [x, index, np.array([2])], [out], batch_dims=1) == 0, card.error()
    for row in range(2):
        np.testing.assert_array_equal(out[row], x[row][:, index[row]])


def test_an_index_that_chooses_nothing_writes_nothing(card: Library) -> None:
    x, room = drawn(2, 3), np.zeros(1, np.int64)
    whole, nothing = np.zeros((0,) * 9, np.int64), room[:0]
    before = x.copy()
    assert card.call("aclnnIndexPutImpl", x, [nothing], np.ones(1, np.float32), False, False) == 0, card.error()
    np.testing.assert_array_equal(x, before)
    assert card.call("aclnnIndexPutImpl", x, [whole, np.array([1])], np.ones(1, np.float32), False, False) == 0
    assert x[:, 1].tolist() == [1, 1] and x[0, 0] == before[0, 0]


def test_steps_of_large_batches(card: Library) -> None:
    weight, grad = drawn(4, 2), drawn(2, 4).reshape(4, 2)
    sums = [np.array((one**2).sum(), np.float32).reshape(1) for one in (weight, grad)]
    given = [weight, grad, *sums, np.array([0.01], np.float32), np.array([0.1], np.float32)]
    found = run(card, "LarsV2Update", given, np.zeros_like(weight), epsilon=1e-5, hyperpara=0.001, use_clip=False)
    norms = [float(np.sqrt(one[0])) for one in sums]
    factor = 0.001 * norms[0] / (norms[1] + 0.01 * norms[0] + 1e-5)
    np.testing.assert_allclose(found, factor * (grad + 0.01 * weight), rtol=1e-5)
    param = weight.copy()
    scale = np.array([2], np.float32), np.array([4], np.float32), np.array([0.5], np.float32)
    out = run(card, "LambApplyWeightAssign", [*scale, grad, param], np.zeros_like(param))
    np.testing.assert_allclose(out, weight - 0.25 * grad, rtol=1e-6)
    np.testing.assert_array_equal(param, out)


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("how", ["none", "mean", "sum"])
def test_loss_of_margins(card: Library, power: int, how: str) -> None:
    x = torch.from_numpy(drawn(4, 3)).requires_grad_()
    target, weight = torch.tensor([0, 2, 1, 1]), torch.tensor([0.5, 1.0, 2.0])
    out = functional.multi_margin_loss(x, target, power, 0.7, weight, reduction=how)
    grad = torch.ones_like(out) * 3
    (expected,) = torch.autograd.grad(out, x, grad)
    options = {"p": power, "margin": 0.7, "reduction": how}
    given = [x.detach().numpy(), target.numpy(), weight.numpy()]
    found = run(card, "CustMultiMarginLoss", given, np.zeros(out.shape, np.float32), **options)
    np.testing.assert_allclose(found, out.detach(), rtol=1e-5)
    back = run(card, "MultiMarginLossGrad", [grad.numpy(), *given], np.zeros((4, 3), np.float32), **options)
    np.testing.assert_allclose(back, expected, rtol=1e-5, atol=1e-6)


def test_cosine_transforms_are_those_of_scipy(card: Library) -> None:
    fft = pytest.importorskip("scipy.fft")
    x = drawn(2, 5)
    for norm, name in ((0, "backward"), (2, "ortho")):
        given = [x, *(np.array(one) for one in (2, 5, -1, norm))]
        found = run(card, "CustDCT", given, np.zeros_like(x))
        np.testing.assert_allclose(found, fft.dct(x, norm=name), rtol=1e-4, atol=1e-5)
    back = run(card, "IDCT", given, np.zeros_like(x))
    np.testing.assert_allclose(back, fft.idct(x, norm="ortho"), rtol=1e-4, atol=1e-5)
    given = [x, np.array(2), np.array([2, 4]), np.array([0, 1]), np.array(2)]
    found = run(card, "DCTN", given, np.zeros((2, 4), np.float32))
    np.testing.assert_allclose(found, fft.dctn(x, s=(2, 4), norm="ortho"), rtol=1e-4, atol=1e-5)
    older = run(card, "DCT", [x], np.zeros_like(x), type=2, n=5, axis=-1, norm=2, forward=False)
    np.testing.assert_allclose(older, back, rtol=1e-5)


def test_slices_go_backwards(card: Library) -> None:
    x = drawn(5, 4)
    cases = [((4, 3), (0, -5), (-2, -1), 0), ((-1, 0), (-6, 4), (-1, 3), 0), ((0, 1), (0, 3), (-1, 1), 1)]
    for begin, end, step, mask in cases:
        first = slice(None, None, -1) if mask else slice(begin[0], None if end[0] == -6 else end[0], step[0])
        wanted = x[first, slice(begin[1], None if end[1] == -5 else end[1], step[1])]
        given = [x, np.array(begin), np.array(end), np.array(step)]
        found = run(card, "StridedSlice", given, np.zeros(wanted.shape, np.float32), begin_mask=mask, end_mask=mask)
        np.testing.assert_array_equal(found, wanted)


def test_bits_of_dropout_fill_their_room(card: Library) -> None:
    given = [np.array([2, 4, 2, 2]), np.ones(1, np.float32)]
    assert (run(card, "DropOutGenMask", given, np.zeros(16, np.uint8), seed=10, seed2=28) == 255).all()


def test_a_number_is_assigned_to_one_without_axes(card: Library) -> None:
    target = np.zeros((), np.float32)
    assert card.by_type("Assign", [target, np.ones(1, np.float32)], [target]) == 0, card.error()
    assert target == 1


def test_an_index_beyond_the_end_is_refused(card: Library) -> None:
    given = [drawn(3), np.array([4]), np.array([0])]
    assert card.by_type("GatherV2", given, [np.zeros(1, np.float32)], batch_dims=0) == 100000
    assert "what a card reads at index 4 of 3 is not emulated" in card.error()


def test_weights_of_single_losses_are_not_added_up(card: Library) -> None:
    x, target, weight = drawn(3, 4), np.array([1, 0, 3]), np.ones(4, np.float32)
    total = np.ones((), np.float32)
    card.run("aclnnNLLLoss", x, target, weight, 0, -100, np.zeros(3, np.float32), total)
    assert total == 0
    card.run("aclnnNLLLoss", x, target, weight, 2, -100, np.zeros((), np.float32), total)
    assert total == 3
