"""More kernels of MindSpore's operators against numpy: activations, losses, indices, order, norms, images, random."""

from __future__ import annotations

import math
from ctypes import c_double
from typing import Any

import pytest

np = pytest.importorskip("numpy")

from stand_ins import CUBE, Library  # noqa: E402


@pytest.fixture
def x() -> Any:
    return np.random.default_rng(5).normal(size=(4, 6))


def _sigmoid(v: Any) -> Any:
    return 1 / (1 + np.exp(-v))


CURVES = {
    "aclnnGelu": lambda v: v / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v**3))),
    "aclnnHardswish": lambda v: v * np.clip(v + 3, 0, 6) / 6,
    "aclnnMish": lambda v: v * np.tanh(np.log1p(np.exp(v))),
    "aclnnHardsigmoid": lambda v: np.clip(v / 6 + 0.5, 0, 1),
}


@pytest.mark.parametrize("name", CURVES)
def test_curve_and_its_slope(card: Library, x: Any, name: str) -> None:
    assert np.allclose(card.run(name, x, np.zeros_like(x)), CURVES[name](x))
    slope = (CURVES[name](x + 1e-6) - CURVES[name](x - 1e-6)) / 2e-6
    assert np.allclose(card.run(f"{name}Backward", np.full_like(x, 2), x, np.zeros_like(x)), 2 * slope, atol=1e-6)


def test_losses(card: Library, x: Any) -> None:
    y = x[::-1].copy()
    assert np.allclose(card.run("aclnnMseLoss", x, y, 1, np.zeros(())), ((x - y) ** 2).mean())
    assert np.allclose(card.run("aclnnL1Loss", x, y, 2, np.zeros(())), np.abs(x - y).sum())
    p, t = _sigmoid(x), _sigmoid(y)
    entropy = -(t * np.log(p) + (1 - t) * np.log(1 - p))
    assert np.allclose(card.run("aclnnBinaryCrossEntropy", p, t, None, 0, np.zeros_like(x)), entropy)
    out = card.run("aclnnBinaryCrossEntropyWithLogits", x, t, None, None, 1, np.zeros(()))
    assert np.allclose(out, entropy.mean())


def test_numpy_indexing(card: Library, x: Any) -> None:
    cube = x.reshape(2, 3, 4)
    i, j = np.array([[1, 0]]), np.array([[2], [0]])
    none = np.zeros((0,) * 9, "int64")  # as MindSpore marks a whole axis
    assert np.allclose(card.run("aclnnIndex", cube, [i, j], np.zeros((2, 2, 4))), cube[i, j])
    assert np.allclose(card.run("aclnnIndex", cube, [none, j], np.zeros((2, 2, 1, 4))), cube[:, j])
    assert np.allclose(card.run("aclnnIndex", cube, [i, none, j], np.zeros((2, 2, 3))), cube[i, :, j])
    target = x.copy()
    assert card.call("aclnnIndexPutImpl", target, [np.array([1, 1])], np.ones((2, 6)), True, False) == 0
    assert np.allclose(target[1], x[1] + 2) and np.allclose(target[0], x[0])


def test_sorting_and_running_sums(card: Library, x: Any) -> None:
    values, places = np.zeros((4, 3)), np.zeros((4, 3), "int64")
    card.run("aclnnTopk", x, 3, 1, True, True, values, places)
    assert np.allclose(values, -np.sort(-x)[:, :3]) and (places == np.argsort(-x)[:, :3]).all()
    for reverse, expected in ((False, np.cumsum(x, 1)), (True, np.cumsum(x[:, ::-1], 1)[:, ::-1])):
        out = np.zeros_like(x)
        assert card.by_type("Cumsum", [x, np.array(1)], [out], exclusive=False, reverse=reverse) == 0
        assert np.allclose(out, expected)


def test_group_and_root_mean_square_norm(card: Library, x: Any) -> None:
    image, weight = np.random.default_rng(1).normal(size=(2, 4, 3, 3)), np.arange(4.0)
    out, mean, inverse = np.zeros_like(image), np.zeros((2, 2)), np.zeros((2, 2))
    card.run("aclnnGroupNorm", image, weight, np.ones(4), 2, 4, 9, 2, c_double(1e-5), out, mean, inverse)
    parts = image.reshape(2, 2, -1)
    scaled = ((parts - parts.mean(2, keepdims=True)) / np.sqrt(parts.var(2, keepdims=True) + 1e-5)).reshape(image.shape)
    assert np.allclose(out, scaled * weight[:, None, None] + 1)
    out, inverse = np.zeros_like(x), np.zeros((4, 1))
    card.run("aclnnRmsNorm", x, np.ones(6), c_double(0), out, inverse)
    assert np.allclose(inverse, 1 / np.sqrt((x**2).mean(1, keepdims=True))) and np.allclose(out, x * inverse)


def test_gradient_of_root_mean_square_norm_cancels_as_on_the_card(card: Library) -> None:
    x = np.arange(16, dtype=np.float32).reshape(2, 8)
    out, inverse, ones = np.zeros_like(x), np.zeros((2, 1), np.float32), np.ones(8, np.float32)
    card.run("aclnnRmsNorm", x, ones, c_double(1e-7), out, inverse)
    to_x, to_weight = np.zeros_like(x), np.zeros(8, np.float32)
    card.run("aclnnRmsNormGrad", np.ones_like(x), x, inverse, ones, to_x, to_weight)
    assert to_x[0, 5] == 0  # 1 - 5 · 28 / 140, in float: CANN's kernel multiplies by the inverse root last
    scaled = x.astype("float64") / np.sqrt((x.astype("float64") ** 2).mean(1, keepdims=True))
    assert np.allclose(to_x, (1 - scaled * scaled.mean(1, keepdims=True)) * inverse, atol=1e-7)
    assert np.allclose(to_weight, scaled.sum(0))


@pytest.mark.parametrize("how", ["none", "sum", "batchmean"])
def test_divergence_of_float16_is_rounded_at_every_step(card: Library, how: str) -> None:
    x = np.array([[0.2, 0.7, 0.1], [-0.1, 3, 0.9]], np.float16)
    target = np.array([[1, 0, 0.1], [0.6, -1, 4]], np.float16)
    with np.errstate(all="ignore"):
        expected = np.nan_to_num(target * (np.log(target) - x))
    expected = expected if how == "none" else expected.sum(keepdims=True).reshape(1) / (2 if how == "batchmean" else 1)
    out = np.zeros_like(expected)
    assert card.by_type("KLDiv", [x, target], [out], reduction=how) == 0, card.error()
    assert (out == expected).all()
    wide = np.zeros((2, 3), np.float32)
    assert card.by_type("KLDiv", [x.astype("float32"), target.astype("float32")], [wide], reduction="none") == 0
    assert np.allclose(wide[1, 2], 4 * (np.log(4) - np.float32(np.float16(0.9))), rtol=1e-6)


def test_gradient_of_an_embedding_by_frequency(card: Library) -> None:
    grad, index = np.arange(8.0).reshape(4, 2), np.array([1, 2, 1, 0])
    for by_frequency in (False, True):
        expected = np.zeros((3, 2))
        for row, place in zip(grad, index):
            if place != 0:  # left out
                expected[place] += row / ((index == place).sum() if by_frequency else 1)
        out = card.run("aclnnEmbeddingDenseBackward", grad, index, 3, 0, by_frequency, np.zeros((3, 2)))
        assert np.allclose(out, expected)


def test_subnormal_numbers_count_in_threads_that_take_them_for_zero(card: Library) -> None:
    """As those of MindSpore's graphs do: `mint.mul(x, 0.125)` made zeros of float16 below 6.1e-5 there."""
    import torch

    tiny = np.array([2e-7, 1e-5, 6e-5, 1.0], np.float16)
    narrow = np.array([1e-40, 1.0], np.float32)
    assert torch.set_flush_denormal(True) or pytest.skip("this processor cannot")
    try:
        half = card.run("aclnnMuls", tiny, 0.5, np.zeros_like(tiny))
        single = card.run("aclnnMuls", narrow, 2.0, np.zeros_like(narrow))
        same = np.zeros_like(tiny)
        assert card.by_type("Mul", [tiny, np.ones(4, np.float16)], [same]) == 0, card.error()
    finally:
        torch.set_flush_denormal(False)
    assert (half == tiny * np.float16(0.5)).all() and (single == narrow * np.float32(2)).all() and (same == tiny).all()


def test_a_product_of_vectors_takes_vectors(card: Library) -> None:
    assert card.run("aclnnDot", np.arange(3.0), np.ones(3), np.zeros(())) == 3
    assert card.call("aclnnDot", np.ones((2, 3)), np.ones(3), np.zeros(2)) != 0
    assert "`aclnnDot`: CANN takes two vectors, not [2, 3] and [3]" in card.error()


def test_transposed_convolution_undoes_the_direction(card: Library) -> None:
    rng = np.random.default_rng(2)
    x, weight = rng.normal(size=(1, 3, 4, 4)), rng.normal(size=(3, 2, 3, 3))
    options = [[2, 2], [1, 1], [1, 1], True, [0, 0], 1]
    out = card.run("aclnnConvolution", x, weight, None, *options, np.zeros((1, 2, 7, 7)), CUBE)
    forward = card.run("aclnnConvolution", out, weight, None, *options[:3], False, [0, 0], 1, np.zeros_like(x), CUBE)
    assert np.allclose((out * out).sum(), (forward * x).sum())  # one is the adjoint of the other


def test_resizing(card: Library) -> None:
    image = np.arange(16.0).reshape(1, 1, 4, 4)
    near = card.run("aclnnUpsampleNearest2d", image, [8, 8], np.zeros((1, 1, 8, 8)))
    assert (near == image.repeat(2, 2).repeat(2, 3)).all()
    small = card.run("aclnnAdaptiveAvgPool2d", image, [2, 2], np.zeros((1, 1, 2, 2)))
    assert np.allclose(small, image.reshape(1, 1, 2, 2, 2, 2).mean((3, 5)))


def test_resizing_by_a_factor_that_the_sizes_do_not_say(card: Library) -> None:
    image = np.arange(4.0).reshape(1, 1, 1, 4)
    scales = [c_double(1.0), c_double(1.7)]  # 4 · 1.7 = 6.8: six results, each 1/1.7 apart
    wide = card.run("aclnnUpsampleBilinear2d", image, [1, 6], False, *scales, np.zeros((1, 1, 1, 6)))
    assert np.allclose(wide[0, 0, 0], np.clip((np.arange(6) + 0.5) / 1.7 - 0.5, 0, 3))


def test_a_single_number_has_an_axis(card: Library) -> None:
    one = np.array(3.0)
    assert card.run("aclnnLogSumExp", one, [0], True, np.zeros(())) == 3
    assert card.run("aclnnFlip", one, [0], np.zeros(())) == 3
    assert (card.run("aclnnGather", one, 0, np.array([0]), np.zeros(1)) == [3]).all()


def test_average_pooling_counts_what_the_last_window_reaches(card: Library) -> None:
    x = np.arange(5.0).reshape(1, 1, 1, 5)
    found = card.run("aclnnAvgPool2d", x, [1, 2], [1, 2], [0, 0], True, True, 0, CUBE, np.zeros((1, 1, 1, 3)))
    assert (found == [0.5, 2.5, 4]).all()


def test_padding_modes(card: Library, x: Any) -> None:
    for name, mode in (("aclnnReflectionPad1d", "reflect"), ("aclnnReplicationPad1d", "edge")):
        expected = np.pad(x, ((0, 0), (2, 1)), mode)
        assert (card.run(name, x, [2, 1], np.zeros_like(expected)) == expected).all()
    padded = np.zeros((4, 9))
    assert card.by_type("PadV3", [x, np.array([0, 0, 2, 1])], [padded], mode="circular", paddings_contiguous=True) == 0
    assert (padded == np.pad(x, ((0, 0), (2, 1)), "wrap")).all()
    assert (card.run("aclnnFlip", x, [0], np.zeros_like(x)) == x[::-1]).all()
    assert (card.run("aclnnRoll", x, [2], [1], np.zeros_like(x)) == np.roll(x, 2, 1)).all()


def test_same_seed_gives_the_same_numbers(card: Library) -> None:
    def mask(seed: int) -> Any:
        bits = np.zeros(1000 // 8, "uint8")
        return card.run("aclnnDropoutGenMask", [1000], c_double(0.3), seed, 0, bits)

    assert (mask(1) == mask(1)).all() and (mask(1) != mask(2)).any()
    assert 600 < np.unpackbits(mask(1)).sum() < 800
    drawn = np.zeros((2, 5000))
    assert card.by_type("RandomStandardNormal", [np.array([2, 5000])], [drawn], seed=3, seed2=4) == 0
    assert abs(drawn.mean()) < 0.05 and abs(drawn.std() - 1) < 0.05
    again = np.zeros_like(drawn)
    assert card.by_type("RandomStandardNormal", [np.array([2, 5000])], [again], seed=3, seed2=4) == 0
    assert (drawn == again).all()  # another kernel with the same seeds
    assert card.by_type("RandomStandardNormal", [np.array([2, 5000])], [again], times=2, seed=3, seed2=4) == 0
    assert (drawn != again).any()  # the next numbers of the same kernel
    for numbers in (drawn, again):
        assert card.by_type("RandomStandardNormal", [np.array([2, 5000])], [numbers], seed=0, seed2=0) == 0
    assert (drawn != again).any()


def test_batch_norm_by_type(card: Library) -> None:
    x, ones, zeros = np.random.default_rng(3).normal(2, 3, size=(4, 2, 5, 5)), np.ones(2), np.zeros(2)
    out, mean, variance, batch_mean, batch_variance = np.zeros_like(x), *(np.zeros(2) for _ in range(4))
    inputs = [x, zeros, zeros, ones, zeros, zeros, ones]
    results = [out, mean, variance, batch_mean, batch_variance]
    assert card.by_type("BNTrainingUpdate", inputs, results, factor=0.1, epsilon=1e-5) == 0
    assert np.allclose(batch_mean, x.mean((0, 2, 3))) and np.allclose(batch_variance, x.var((0, 2, 3)))
    assert np.allclose(mean, 0.1 * batch_mean) and np.allclose(out.std((0, 2, 3)), 1, atol=1e-5)
    grad, flat = np.arange(8.0).reshape(4, 2, 1, 1), np.zeros((4, 2))
    assert card.by_type("BNInferGrad", [grad, np.array([2.0, 3.0]), ones], [flat], epsilon=0.0) == 0, card.error()
    assert np.allclose(flat, grad[..., 0, 0] * [2, 3])


@pytest.mark.parametrize("places", [
    [np.array([True, False, True])],
    [np.array([[True, False], [False, False], [True, True]])],
    [np.array([False, False, False])],
    [np.array([True, False, True]), np.array([1, 0])],
])  # fmt: skip
def test_masks_stand_for_the_places_of_their_true_values(card: Library, places: list[Any]) -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 2, 2)
    expected = x.copy()
    expected[tuple(places)] = -1
    assert card.call("aclnnIndexPutImpl", x, places, np.array([-1], np.float32), False, False) == 0, card.error()
    np.testing.assert_array_equal(x, expected)
    found = np.zeros_like(expected[tuple(places)])
    if found.size:
        np.testing.assert_array_equal(card.run("aclnnIndex", expected, places, found), expected[tuple(places)])


@pytest.mark.parametrize("whole", [True, False])
def test_one_truth_value_stands_for_the_whole_tensor(card: Library, whole: bool) -> None:
    x = np.ones(3, np.float32)
    assert card.call("aclnnIndexPutImpl", x, [np.array(whole)], np.array([2], np.float32), False, False) == 0
    assert x.tolist() == ([2, 2, 2] if whole else [1, 1, 1])


@pytest.mark.parametrize("name", ["aclnnInplaceScatter", "aclnnScatter", "aclnnScatterAdd"])
def test_what_is_scattered_has_the_axes_of_the_index(card: Library, name: str) -> None:
    def call(*source: int, index: tuple[int, ...] = (2, 3)) -> int:
        x, at = np.zeros((2, 4), np.float32), np.zeros(index, np.int64)
        given = [x, 1, at, np.ones(source, np.float32), *([] if name == "aclnnScatterAdd" else [0])]
        return card.call(name, *given, *([] if name == "aclnnInplaceScatter" else [np.zeros_like(x)]))

    assert call(2, 3) == call(3, 5) == call(1, 1, index=(0, 3)) == 0, card.error()
    assert call() != 0
    assert "self, index and src must have the same number of dimensions" in card.error()
    assert call(3) != 0
    assert call(2, 2) != 0
    assert "the index must not be larger than src" in card.error()
    assert call(3, 3, index=(3, 3)) != 0  # two rows
