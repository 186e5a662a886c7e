"""Operators by type against what MindSpore's own documentation and other libraries say of them."""

from __future__ import annotations

import colorsys

import numpy as np
import pytest
import torch
from stand_ins import Library, drawn, run

pytestmark = pytest.mark.usefixtures("numpy_kernels")


def test_hue_and_saturation_are_those_of_colorsys(card: Library) -> None:
    image = np.random.default_rng(1).random((4, 3)).astype(np.float32)
    by, factor = np.array(0.2, np.float32), np.array(1.7, np.float32)
    for row, hsv, turned, full in zip(
        image,
        run(card, "RGBToHSV", [image], np.zeros_like(image)),
        run(card, "AdjustHue", [image, by], np.zeros_like(image)),
        run(card, "AdjustSaturation", [image, factor], np.zeros_like(image)),
    ):
        hue, saturation, value = colorsys.rgb_to_hsv(*row)
        np.testing.assert_allclose(hsv, (hue, saturation, value), rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(turned, colorsys.hsv_to_rgb((hue + 0.2) % 1, saturation, value), rtol=1e-4)
        np.testing.assert_allclose(
            full, colorsys.hsv_to_rgb(hue, min(1, 1.7 * saturation), value), rtol=1e-4, atol=1e-6
        )


def test_boxes_are_decoded_compared_and_checked(card: Library) -> None:
    boxes, true = np.array([[4, 1, 6, 9], [2, 5, 5, 9]], np.float32), np.array([[3, 2, 6, 8], [0, 0, 9, 9]], np.float32)
    options = {"means": [0, 0, 0, 0], "stds": [1, 1, 1, 1]}
    deltas = run(card, "BoundingBoxEncode", [boxes, true], np.zeros_like(boxes), **options)
    found = run(card, "BoundingBoxDecode", [boxes, deltas], np.zeros_like(boxes), **options,
                 max_shape=[768, 1280], wh_ratio_clip=0.016)  # fmt: skip
    np.testing.assert_allclose(found, true, rtol=1e-4, atol=1e-4)
    shares = run(card, "Iou", [boxes, true], np.zeros((2, 2), np.float32), mode="iou")
    assert shares[0, 0] == pytest.approx(21 / (27 + 28 - 21)) and shares[1, 0] == pytest.approx(27 / 100)
    valid = run(card, "CheckValid", [true, np.array([3, 3, 3], np.float32)], np.zeros(2, bool))
    assert valid.tolist() == [True, False]


def test_the_best_labels_are_decoded(card: Library) -> None:
    scores = np.array([[[0.6, 0.4, 0.2], [0.8, 0.6, 0.3]], [[0.0, 0.6, 0.0], [0.5, 0.4, 0.5]]], np.float32)
    outs = [np.zeros((4, 2), np.int64), np.zeros(4, np.int64), np.zeros(2, np.int64), np.zeros((2, 1), np.float32)]
    given = [scores, np.array([2, 2], np.int32)]
    assert card.by_type("CTCGreedyDecoder", given, outs, merge_repeated=True) == 0, card.error()
    assert outs[0][:3].tolist() == [[0, 0], [0, 1], [1, 0]] and outs[1][:3].tolist() == [0, 1, 0]
    assert outs[2].tolist() == [2, 2]
    np.testing.assert_allclose(outs[3], [[-1.2], [-1.3]], rtol=1e-5)


def test_rows_are_looked_up_and_changed(card: Library) -> None:
    x, v = drawn(4, 2), drawn(2, 2)
    found = run(card, "EmbeddingLookup", [x, np.array([5, 2, 8]), np.array(4)], np.zeros((3, 2), np.float32))
    np.testing.assert_array_equal(found, [x[1], [0, 0], [0, 0]])
    for kind, wanted in (("InplaceAddD", x[[3, 0]] + v), ("InplaceSubD", x[[3, 0]] - v), ("InplaceUpdateD", v)):
        changed = run(card, kind, [x, v], np.zeros_like(x), indices=[3, 0])
        np.testing.assert_allclose(changed[[3, 0]], wanted, rtol=1e-6)
        np.testing.assert_array_equal(changed[1], x[1])


def test_slices_are_no_larger_than_a_norm(card: Library) -> None:
    x = torch.from_numpy(drawn(2, 3, 4))
    wanted = torch.renorm(x, 2, 1, 1.5)
    whole = run(card, "Renorm", [x.numpy()], np.zeros((2, 3, 4), np.float32), p=2.0, dim=1, maxnorm=1.5)
    np.testing.assert_allclose(whole, wanted, rtol=1e-5)
    factor = run(card, "Renorm", [x.numpy()], np.zeros((1, 3, 1), np.float32), p=2.0, dim=1, maxnorm=1.5)
    np.testing.assert_allclose(factor * x.numpy(), wanted, rtol=1e-5)


def test_transforms_of_windows_and_frequencies(card: Library) -> None:
    x, window = drawn(2, 30), np.random.default_rng(3).random(12).astype(np.float32)
    options = {"n_fft": 16, "hop_length": 5, "win_length": 12, "normalized": True, "onesided": True}
    wanted = torch.stft(torch.from_numpy(x), 16, 5, 12, torch.from_numpy(window), False, "constant", True, True,
                        return_complex=True)  # fmt: skip
    found = run(card, "STFT", [x, window], np.zeros(wanted.shape, np.complex64), **options)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    pair = run(card, "STFT", [x, window], np.zeros((*wanted.shape, 2), np.float32), **options)
    np.testing.assert_allclose(pair, torch.view_as_real(wanted), rtol=1e-4, atol=1e-5)
    given = [np.array(8), np.array(2.0, np.float32)]
    np.testing.assert_allclose(run(card, "FFTFreq", given, np.zeros(8, np.float32)), np.fft.fftfreq(8, 2.0))
    np.testing.assert_allclose(run(card, "RFFTFreq", given, np.zeros(5, np.float32)), np.fft.rfftfreq(8, 2.0))
    real = torch.from_numpy(drawn(3, 4))
    half = run(card, "IHFFT2", [real.numpy()], np.zeros((3, 3), np.complex64))
    np.testing.assert_allclose(half, torch.fft.ihfft2(real), rtol=1e-4, atol=1e-6)
    back = run(card, "HFFTN", [half], np.zeros((3, 4), np.float32))
    np.testing.assert_allclose(back, torch.fft.hfftn(torch.from_numpy(half)), rtol=1e-4, atol=1e-5)


def test_running_sums_of_exponentials_without_the_value_itself(card: Library) -> None:
    x, low = np.array([1, 2, 3], np.float32), np.finfo(np.float32).min
    wanted = {(False, False): [1, 2.3132617, 3.407606], (True, False): [low, 1, 2.3132617],
              (False, True): [3.407606, 3.3132617, 3], (True, True): [3.3132617, 3, low]}  # fmt: skip
    for (exclusive, reverse), expected in wanted.items():
        found = run(card, "CumulativeLogsumexp", [x, np.array(0)], np.zeros(3, np.float32), exclusive=exclusive,
                     reverse=reverse)  # fmt: skip
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_steps_by_the_sign_of_gradients(card: Library) -> None:
    weight, moment = np.array([0.6], np.float32), np.array([0.6], np.float32)
    numbers = [np.array(one, np.float32) for one in (0.001, np.e, 0.99, 0.9)]
    outs = [weight, moment]
    given = [weight, moment, *numbers, np.array([0.3], np.float32)]
    assert card.by_type("ApplyPowerSign", given, outs) == 0, card.error()
    np.testing.assert_allclose(weight, 0.595575690, rtol=1e-6)
    np.testing.assert_allclose(moment, 0.57, rtol=1e-6)


def test_diagonals_of_matrices(card: Library) -> None:
    x = drawn(2, 3)
    found = run(card, "Diag", [x], np.zeros((2, 3, 2, 3), np.float32))
    np.testing.assert_array_equal(np.einsum("ijij->ij", found), x)
    assert np.count_nonzero(found) == 6


def test_boxes_that_share_too_much_are_left_out(card: Library) -> None:
    boxes = np.array([[1, 2, 3, 4], [1, 3, 3, 4], [1, 3, 4, 4], [1, 1, 4, 4], [1, 1, 3, 4]], np.float32)
    scores = np.array([0.4, 0.5, 0.72, 0.9, 0.45], np.float32)
    numbers = [np.array(5, np.int32), np.array(0.5, np.float32), np.array(0.0, np.float32)]
    found = run(card, "NonMaxSuppressionV3", [boxes, scores, *numbers], np.full(5, 9, np.int32), offset=0)
    assert found[:3].tolist() == [3, 2, 0]
    shares = np.eye(5, dtype=np.float32)
    shares[3, 4] = shares[4, 3] = 0.9
    found = run(card, "NonMaxSuppressionWithOverlaps", [shares, scores, *numbers], np.zeros(5, np.int32))
    assert found[:4].tolist() == [3, 2, 1, 0]


def test_bits_of_true_and_false_are_turned_round(card: Library) -> None:
    x = np.array([True, False, True, False])
    np.testing.assert_array_equal(card.run("aclnnBitwiseNot", x, np.zeros(4, bool)), ~x)
    whole = np.array([0, 5, -3])
    np.testing.assert_array_equal(card.run("aclnnBitwiseNot", whole, np.zeros(3, np.int64)), ~whole)
