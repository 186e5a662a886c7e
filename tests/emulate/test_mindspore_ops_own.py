"""Kernels of MindSpore's own for the device's processor, called as a framework does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from stand_ins import Library

pytestmark = pytest.mark.usefixtures("numpy_kernels")


def _run(card: Library, kind: str, inputs: list[Any], out: Any, **attributes: Any) -> Any:
    assert card.by_type(kind, inputs, [out], **attributes) == 0, card.error()
    return out


@pytest.mark.parametrize("size", [4, 5, 8])
def test_gradient_of_half_a_transform_counts_both_sides(card: Library, size: int) -> None:
    """As MindSpore builds it: the half transform of the gradient, doubled, over the size."""
    x = torch.randn(size // 2 + 1, 3, dtype=torch.complex64, requires_grad=True)
    found = torch.fft.irfft(x, size, 0)
    grad = torch.randn_like(found)
    (expected,) = torch.autograd.grad(found, x, grad)
    half = np.ascontiguousarray(np.fft.rfft(grad.numpy(), axis=0), np.complex64)
    out = _run(card, "CustIRFFTDouble", [half, np.array([size]), np.array([0])], np.zeros(half.shape, half.dtype))
    np.testing.assert_allclose(out / size, expected, rtol=1e-4, atol=1e-5)


def test_scaling_makes_cosines_orthogonal_and_is_taken_back(card: Library) -> None:
    import scipy.fft

    x = np.random.default_rng(1).normal(size=(4, 6)).astype(np.float32)
    plain = scipy.fft.dct(x, axis=0).astype(np.float32)
    out = _run(card, "CustFFTOrtho", [plain, np.array([0]), np.array([True])], np.zeros_like(x))
    np.testing.assert_allclose(out, scipy.fft.dct(x, axis=0, norm="ortho"), rtol=1e-4, atol=1e-5)
    back = _run(card, "CustFFTOrtho", [out, np.array([0]), np.array([False])], np.zeros_like(x))
    np.testing.assert_allclose(back, plain, rtol=1e-4, atol=1e-5)


def test_an_environment_keeps_values_by_key(card: Library) -> None:
    handle = _run(card, "CustEnvironCreate", [], np.zeros(1, np.int64), value_type=26)
    other = _run(card, "CustEnvironCreate", [], np.zeros(1, np.int64), value_type=26)
    assert handle[0] != other[0]
    value, missing, key = np.arange(3.0, dtype=np.float32), np.full(3, -1, np.float32), np.array([7])
    assert _run(card, "CustEnvironSet", [handle, key, value], np.zeros(1, np.int64), value_type=17)[0] == handle[0]
    value[:] = 9  # what was kept is a copy
    for where, number, expected in ((handle, 7, [0, 1, 2]), (handle, 8, [-1] * 3), (other, 7, [-1] * 3)):
        inputs = [where, np.array([number]), missing]
        found = _run(card, "CustEnvironGet", inputs, np.zeros(3, np.float32), value_type=17)
        assert found.tolist() == expected
    assert _run(card, "CustEnvironDestroyAll", [], np.zeros(1, np.bool_))[0]


def test_a_glimpse_is_a_window_of_the_picture(card: Library) -> None:
    picture = np.arange(30, dtype=np.float32).reshape(1, 5, 6, 1)
    size, options = np.array([3, 2], np.int32), {"centered": False, "normalized": False}
    options |= {"uniform_noise": False, "noise": "zero"}
    out = np.zeros((1, 3, 2, 1), np.float32)
    found = _run(card, "CustExtractGlimpse", [picture, size, np.array([[2.5, 3.0]], np.float32)], out, **options)
    np.testing.assert_array_equal(found[0, ..., 0], picture[0, 1:4, 2:4, 0])
    found = _run(card, "CustExtractGlimpse", [picture, size, np.array([[1.0, 7.0]], np.float32)], out, **options)
    assert not found.any()  # all of it lies to the right
    assert card.by_type("CustExtractGlimpse", [picture, size, np.zeros((1, 2), np.float32)], [out]) != 0
    assert "noise outside of the picture is not emulated" in card.error()


@pytest.mark.parametrize("clip", [True, False])
def test_best_boxes_of_all_classes(card: Library, clip: bool) -> None:
    boxes = np.array([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [2, 2, 3, 3]], np.float32)[None, :, None]
    scores = np.array([[0.9, 0.2], [0.8, 0.7], [0.3, 0.05]], np.float32)[None]
    limits = [np.array(2, np.int32), np.array(3, np.int32), np.array(0.5, np.float32), np.array(0.1, np.float32)]
    outs = [np.zeros((1, 3, 4), np.float32), *(np.zeros((1, 3), np.float32) for _ in range(2)), np.zeros(1, np.int32)]
    inputs = [boxes, scores, *limits]
    kind = "CustCombinedNonMaxSuppression"
    assert card.by_type(kind, inputs, outs, pad_per_class=False, clip_boxes=clip) == 0, card.error()
    assert outs[3].tolist() == [3]
    np.testing.assert_allclose(outs[1], [[0.9, 0.7, 0.3]])  # the second box of class 0 overlaps the first too much
    assert outs[2].tolist() == [[0, 1, 0]]
    expected = boxes[0, [0, 1, 2], 0]
    np.testing.assert_allclose(outs[0][0], np.clip(expected, 0, 1) if clip else expected)


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_running_products_of_complex_numbers(card: Library, exclusive: bool, reverse: bool) -> None:
    rng = np.random.default_rng(4)
    x = (rng.normal(size=(3, 4)) + 1j * rng.normal(size=(3, 4))).astype(np.complex64)
    inputs = [x, np.array(1)]
    out = _run(card, "Cumprod", inputs, np.zeros_like(x), exclusive=exclusive, reverse=reverse)
    turned = x[:, ::-1] if reverse else x
    turned = np.concatenate([np.ones((3, 1)), turned[:, :-1]], 1) if exclusive else turned
    expected = np.cumprod(turned, 1)
    np.testing.assert_allclose(out, expected[:, ::-1] if reverse else expected, rtol=1e-5)


def test_gradient_of_distances_whose_inputs_were_repeated(card: Library) -> None:
    rng = np.random.default_rng(5)
    x, other = (torch.tensor(rng.normal(size=(2, rows, 3)), requires_grad=True) for rows in (4, 5))
    found = torch.cdist(x, other)
    grad = torch.tensor(rng.normal(size=(2, 4, 5)))
    (expected,) = torch.autograd.grad(found, x, grad)
    rows = (grad[..., None], x[:, :, None], other[:, None], found[..., None])
    inputs = [np.ascontiguousarray(one.detach().expand(2, 4, 5, 3).numpy().astype(np.float32)) for one in rows]
    out = _run(card, "CdistGrad", inputs, np.zeros((2, 4, 3), np.float32), p=2.0)
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-5)


def test_grouped_products_with_weights_of_int8(card: Library) -> None:
    rng = np.random.default_rng(6)
    x = [rng.random((4, 8)).astype(np.float16), rng.random((3, 6)).astype(np.float16)]
    weight = [rng.integers(-9, 9, (8, 5)).astype(np.int8), rng.integers(-9, 9, (6, 2)).astype(np.int8)]
    scale, shift = ([rng.random(n).astype(np.float16) for n in (5, 2)] for _ in range(2))
    outs = [np.zeros((4, 5), np.float16), np.zeros((3, 2), np.float16)]
    arguments = [x, weight, None, None, None, scale, shift, None, 0, -1, outs]
    assert card.call("aclnnGroupedMatmulV3", *arguments) == 0, card.error()
    for one, matrix, factor, move, out in zip(x, weight, scale, shift, outs):
        plain = (matrix.astype(np.float16) + move) * factor
        np.testing.assert_array_equal(out, (one.astype(np.float32) @ plain.astype(np.float32)).astype(np.float16))


@pytest.mark.parametrize("later", [0, 1])
def test_experts_take_tokens_until_their_weights_reach_a_threshold(card: Library, later: int) -> None:
    """The loops of MindSpore's kernel."""
    rng = np.random.default_rng(7)
    batch, length, choices, experts, capacity, threshold = 2, 6, 3, 4, 2, 0.7
    chosen = rng.integers(0, experts, (batch, length, choices)).astype(np.int32)
    weights = rng.random((batch, length, choices)).astype(np.float32) / 2
    sent, back = np.zeros((batch, experts, capacity), np.int32), np.zeros(chosen.shape, np.int32)
    for group in range(batch):
        filled, summed = [0] * experts, np.zeros(length, np.float32)
        pairs = [(i, j) for j in range(choices) for i in range(length)]
        for i, j in pairs if later else sorted(pairs):
            expert = chosen[group, i, j]
            back[group, i, j] = expert * (capacity + 1)
            if filled[expert] < capacity and summed[i] + weights[group, i, j] < np.float32(threshold):
                sent[group, expert, filled[expert]] = i + 1
                filled[expert] += 1
                back[group, i, j] += filled[expert]
            summed[i] += weights[group, i, j]
    outs = [np.full_like(sent, 9), np.full_like(back, 9)]
    numbers = [np.array(one) for one in (capacity, experts, later)]
    inputs = [chosen, *numbers, np.array(threshold, np.float32), weights]
    assert card.by_type("CustTopPRouter", inputs, outs) == 0, card.error()
    np.testing.assert_array_equal(outs[0], sent)
    np.testing.assert_array_equal(outs[1], back)


def _faulty(card: Library, x: Any, places: list[int], step: int = 4, **options: Any) -> Any:
    given = {"start": 1, "steps": [3], "error_mode": 0, "flip_mode": 0, "multiply_factor": 0.5, "bit_pos": 0}
    given = {**given, "flip_probability": 0.0, **options}
    inputs = [x, np.array(places, np.int64), *(np.array(one) for one in (step, 5, 2))]
    return _run(card, "CustGenerateEodMaskV2", inputs, np.zeros_like(x), **given)


@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_faults_are_put_where_they_are_asked_for(card: Library, kind: Any) -> None:
    x = np.array([1.5, -2, 3, -4], kind)
    np.testing.assert_array_equal(_faulty(card, x, [0, 3]), np.array([-1.5, -2, 3, 4], kind))
    bits = {np.float16: "u2", np.float32: "u4"}[kind]
    second = _faulty(card, x, [2], bit_pos=1)
    top = 1 << (np.dtype(kind).itemsize * 8 - 2)
    assert (second.view(bits) ^ x.view(bits)).tolist() == [0, 0, top, 0]
    designed = _faulty(card, np.array([2.0, 0.5], kind), [0, 1], flip_mode=1)
    assert np.abs(designed[0]) > 4 and np.abs(designed[1]) > 4  # the highest bit of the exponent that was not set
    np.testing.assert_array_equal(_faulty(card, x, [1], flip_mode=2), np.array([1.5, -1, 3, -4], kind))
    np.testing.assert_array_equal(_faulty(card, x, [1], flip_mode=3), np.array([1.5, -2, 3, -2], kind))
    for step in (0, 1, 5):
        np.testing.assert_array_equal(_faulty(card, x, [0], step), x)
    np.testing.assert_array_equal(_faulty(card, x, [0], 3, error_mode=1, steps=[2, 9])[0], kind(-1.5))
    np.testing.assert_array_equal(_faulty(card, x, [0], 4, error_mode=1, steps=[2, 9]), x)


def test_faults_are_drawn(card: Library) -> None:
    x = np.ones(2000, np.float32)
    found = [_faulty(card, x, [], flip_probability=one) for one in (0.25, 0.25, 1.0)]
    np.testing.assert_array_equal(found[0], found[1])
    assert 400 < (found[0] < 0).sum() < 600
    assert (found[2] < 0).all()
