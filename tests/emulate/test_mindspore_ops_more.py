"""More of what MindSpore's process computes with numpy: complex and quantised numbers, boxes, samples, updates."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from stand_ins import CUBE, Library

from jumar.emulate.mindspore_ops import boxes as boxes_
from jumar.emulate.mindspore_ops import (
    drawing,
    experts,
    fourier,
    memory,
    norm,
    older_loss,
    older_matrix,
    optimizer_sparse,
    quantized,
)
from jumar.emulate.mindspore_ops.registry import Inputs
from jumar.emulate.torch_ops import quant_matmul, quantize


def _complex(*shape: int, kind: str = "complex64") -> Any:
    rng = np.random.default_rng(sum(shape))
    return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(kind)


@pytest.mark.parametrize("kind", ["complex64", "complex128"])
def test_calls_with_complex_numbers_are_left_to_python(card: Library, numpy_kernels: None, kind: str) -> None:
    x, y = _complex(2, 3, kind=kind), _complex(3, kind=kind)
    room = np.zeros_like(x)
    np.testing.assert_allclose(card.run("aclnnMul", x, y, room.copy()), x * y, rtol=1e-6)
    np.testing.assert_allclose(card.run("aclnnAdd", x, y, 2.0, room.copy()), x + 2 * y, rtol=1e-6)
    np.testing.assert_allclose(card.run("aclnnMuls", x, 2 - 1j, room.copy()), x * (2 - 1j), rtol=1e-6)
    np.testing.assert_allclose(card.run("aclnnExp", x, room.copy()), np.exp(x), rtol=1e-6)
    size = card.run("aclnnAbs", x, np.zeros((2, 3), x.real.dtype))
    np.testing.assert_allclose(size, np.abs(x), rtol=1e-6)
    product = card.run("aclnnMm", x, x.T.copy(), np.zeros((2, 2), kind), CUBE)
    np.testing.assert_allclose(product, x @ x.T, rtol=1e-5)
    total = card.run("aclnnReduceSum", x, [0], False, 16, np.zeros(3, kind))
    np.testing.assert_allclose(total, x.sum(0), rtol=1e-6)


def test_real_numbers_become_complex_and_back(card: Library, numpy_kernels: None) -> None:
    x = np.array([0.0, 1.5, -2.0], np.float32)
    wide = card.run("aclnnCast", x, 16, np.zeros(3, np.complex64))
    np.testing.assert_array_equal(wide, x.astype(np.complex64))
    wide[0] = 1j
    np.testing.assert_array_equal(card.run("aclnnCast", wide, 0, np.zeros(3, np.float32)), x)
    assert card.run("aclnnCast", wide, 12, np.zeros(3, bool)).all()
    assert card.call("aclnnInplaceAdd", wide, wide.copy(), 1.0) == 0, card.error()
    np.testing.assert_array_equal(wide, [2j, 3, -4])
    halves = [np.zeros(1, np.complex64), np.zeros(2, np.complex64)]
    assert card.call("aclnnSplitWithSize", wide, [1, 2], 0, halves) == 0, card.error()
    np.testing.assert_array_equal(halves[1], [3, -4])


def test_types_with_complex_numbers_are_left_to_python(card: Library, numpy_kernels: None) -> None:
    x, y = _complex(2, 3), _complex(2, 3)
    for kind, expected in (("Add", x + y), ("RealDiv", x / y), ("Pow", x**y)):
        out = np.zeros_like(x)
        assert card.by_type(kind, [x, y], [out]) == 0, card.error()
        np.testing.assert_allclose(out, expected, rtol=1e-5)
    turned = np.zeros((3, 2), np.complex64)
    assert card.by_type("Transpose", [x, np.array([1, 0])], [turned]) == 0, card.error()
    np.testing.assert_array_equal(turned, x.T)
    product = np.zeros((2, 2), np.complex64)
    assert card.by_type("MatMul", [x, y], [product], transpose_x1=False, transpose_x2=True) == 0, card.error()
    np.testing.assert_allclose(product, x @ y.T, rtol=1e-5)


def test_what_python_does_not_have_for_complex_numbers_is_refused(card: Library, numpy_kernels: None) -> None:
    assert card.call("aclnnSort", _complex(4), True, 0, False, _complex(4), np.zeros(4, np.int64)) == 100000
    assert "jumar: `aclnnSort`: data type 16 of aclDataType is not emulated" in card.error()


def test_without_python_complex_numbers_are_refused(card: Library) -> None:
    assert card.call("aclnnExp", _complex(4), _complex(4)) == 100000
    assert "jumar: `aclnnExp`: data type 16 of aclDataType is not emulated" in card.error()


def test_quantised_products_are_those_of_torch_npu() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.integers(-9, 9, (4, 8)).astype(np.int8), rng.integers(-9, 9, (8, 6)).astype(np.int8)
    scale, tokens = rng.random(6).astype(np.float32), rng.random(4).astype(np.float32)
    bias = rng.integers(-99, 99, 6).astype(np.int32)
    packed = quantized.pack_scale(scale, None)
    given = [torch.from_numpy(one) for one in (x, y, packed.astype(np.int64))]
    expected = quant_matmul.npu_quant_matmul(*given, bias=torch.from_numpy(bias), output_dtype=torch.float16)
    found = quantized.multiply(x, y, packed, None, None, bias, 0, 0)
    np.testing.assert_allclose(found.astype(np.float16), expected.numpy())
    turned = quantized.multiply(x, y.T, scale, None, tokens, None, 0, 1)
    np.testing.assert_allclose(turned, x.astype(float) @ y * scale * tokens[:, None], rtol=1e-6)


def test_weights_are_widened_by_groups() -> None:
    rng = np.random.default_rng(4)
    x, weight = rng.random((3, 8)).astype(np.float32), rng.integers(-9, 9, (8, 6)).astype(np.int8)
    scale, shift = rng.random((2, 6)).astype(np.float32), rng.random((2, 6)).astype(np.float32)
    given = [torch.from_numpy(one) for one in (x, weight, scale, shift)]
    expected = quant_matmul.npu_weight_quant_batchmatmul(*given, antiquant_group_size=4)
    found = quantized.multiply_by_quantized(x, weight, scale, shift, None, None, None, 4)
    np.testing.assert_allclose(found, expected.numpy(), rtol=1e-5)


def test_rows_are_quantised_by_their_largest_value() -> None:
    x = torch.randn(3, 8, generator=torch.Generator().manual_seed(5))
    smooth = torch.rand(8, generator=torch.Generator().manual_seed(6))
    expected, scale = quantize.npu_dynamic_quant(x, smooth_scales=smooth)[:2]
    found = quantized.quantize_rows(x.numpy(), smooth.numpy())
    np.testing.assert_array_equal(found[0], expected.numpy())
    np.testing.assert_allclose(found[1], scale.numpy(), rtol=1e-6)
    with np.errstate(all="ignore"):  # as the bridge calls it
        np.testing.assert_array_equal(quantized.quantize_rows(np.zeros((1, 2)), None)[0], 0)


@pytest.mark.parametrize(
    ("how", "expected"), [("round", [2, -2, 127]), ("FLOOR", [2, -3, 127]), ("ceil", [3, -2, 127])]
)
def test_rounding_of_quantised_numbers(how: str, expected: list[int]) -> None:
    x = np.array([2.5, -2.25, 900.0])
    np.testing.assert_array_equal(quantized.quantize(x, np.ones(1), None, 0, how, 2), expected)


def test_numbers_of_four_bits_are_read_from_their_bytes() -> None:
    values = np.array([[1, -2], [7, -8], [0, 5], [-1, 3]], np.int8)
    packed = ((values[:, 0] & 15) | (values[:, 1] << 4)).astype(np.uint8)
    dims, strides = (ctypes.c_int64 * 2)(4, 2), (ctypes.c_int64 * 2)(2, 1)
    place = memory.Place(memory.INT4, dims, 2, strides, packed.ctypes.data)
    np.testing.assert_array_equal(place.read(), values)
    turned = memory.Place(memory.INT4, (ctypes.c_int64 * 2)(2, 4), 2, (ctypes.c_int64 * 2)(1, 2), packed.ctypes.data)
    np.testing.assert_array_equal(turned.read(), values.T)


@pytest.mark.parametrize("norm", ["backward", "forward", "ortho"])
def test_transforms_of_one_side_and_of_both_are_undone(norm: str) -> None:
    x = np.random.default_rng(13).normal(size=(2, 5, 6))
    options = {"signal_ndim": 2, "real": 1.0, "onesided": 1.0, "norm": norm, "inverse": 0.0}
    there = fourier.transform([x], options, None)
    np.testing.assert_allclose(there, torch.fft.rfftn(torch.from_numpy(x), dim=(-2, -1), norm=norm).numpy())
    np.testing.assert_allclose(fourier.transform([there], {**options, "inverse": 1.0}, [_Room(2, 5, 6)]), x)
    both = fourier.transform([x], {**options, "onesided": 0.0}, None)
    np.testing.assert_allclose(both, np.fft.fft2(x, norm=norm))


def test_pieces_begin_at_their_offsets(card: Library, numpy_kernels: None) -> None:
    x, out = np.arange(24, dtype=np.float32).reshape(4, 6), np.zeros((2, 4), np.float32)
    assert card.by_type("Slice", [x, np.array([1, 2]), np.array([2, -1])], [out]) == 0, card.error()
    np.testing.assert_array_equal(out, x[1:3, 2:])


def test_caches_are_written_from_each_rows_place() -> None:
    cache, values = np.zeros((2, 1, 4, 2)), np.arange(1, 9).reshape(2, 1, 2, 2)
    found = quantized.update_cache(cache, np.array([2, 0]), values, -2)
    np.testing.assert_array_equal(found[0, 0, 2:], values[0, 0])
    np.testing.assert_array_equal(found[1, 0, :2], values[1, 0])
    assert found.sum() == values.sum() and not cache.any()


class _Room:
    """What an output says of itself."""

    def __init__(self, *shape: int) -> None:
        self.shape = shape


class _Given(list):  # type: ignore[type-arg]
    """Inputs that keep what is written to them."""

    def write(self, index: int, value: Any) -> Any:
        self[index] = value
        return value

    def get(self, index: int) -> Any:
        return self[index] if index < len(self) else None


def _roi_reference(x: Any, box: Any, bins: int, samples: int, scale: float) -> Any:
    """Samples one by one with torch's bilinear reading of an image."""
    height, width = x.shape[-2:]
    first, last = box[1:3] * scale, (box[3:5] + 1) * scale
    size = (last - first) / bins
    out = np.zeros((x.shape[1], bins, bins))
    for p in range(bins):
        for q in range(bins):
            at = (np.arange(samples) + 0.5) / samples
            xs, ys = first[0] + (q + at) * size[0], first[1] + (p + at) * size[1]
            grid = np.stack(np.meshgrid(xs / (width - 1) * 2 - 1, ys / (height - 1) * 2 - 1), -1)
            found = torch.nn.functional.grid_sample(
                torch.from_numpy(x[:1]), torch.from_numpy(grid)[None], padding_mode="border", align_corners=True
            )
            out[:, p, q] = found.mean((-1, -2))[0]
    return out


def test_regions_are_the_means_of_samples_and_the_gradient_is_their_transpose() -> None:
    x = np.random.default_rng(7).normal(size=(1, 2, 8, 9))
    boxes = np.array([[0, 2.0, 1.0, 20.0, 25.0], [0, 4.0, 4.0, 10.0, 30.0]])
    options = {"spatial_scale": 0.25, "pooled_height": 3, "pooled_width": 3, "sample_num": 2, "roi_end_mode": 1}
    out = boxes_.align([x, boxes], options, [_Room(2, 2, 3, 3)])
    for found, box in zip(out, boxes, strict=True):
        np.testing.assert_allclose(found, _roi_reference(x, box, 3, 2, 0.25), rtol=1e-6)
    grad = np.random.default_rng(8).normal(size=out.shape)
    back = boxes_.align_backward([grad, boxes], options, [_Room(*x.shape)])
    np.testing.assert_allclose((back * x).sum(), (out * grad).sum())


def test_crops_are_those_of_torch_and_the_gradient_is_their_transpose() -> None:
    x = np.random.default_rng(9).normal(size=(2, 6, 5, 3))
    boxes, images = np.array([[0.1, 0.2, 0.8, 1.0], [0.0, 0.0, 1.0, 1.5]]), np.array([1, 0])
    given = [x, boxes, images]
    out = boxes_.crop(given, {"method": "bilinear", "extrapolation_value": 9.0}, [_Room(2, 4, 3, 3)])
    rows, columns = np.linspace(0.1, 0.8, 4), np.linspace(0.2, 1.0, 3)
    grid = np.stack(np.meshgrid(columns * 2 - 1, rows * 2 - 1), -1)
    image = torch.from_numpy(x[1:].transpose(0, 3, 1, 2).copy())
    expected = torch.nn.functional.grid_sample(image, torch.from_numpy(grid)[None], align_corners=True)
    np.testing.assert_allclose(out[0], expected[0].permute(1, 2, 0).numpy(), rtol=1e-6)
    assert (out[1, :, 2] == 9).all() and (out[1, :, 1] != 9).all()
    grad = np.random.default_rng(10).normal(size=out.shape)
    plain = boxes_.crop(given, {}, [_Room(2, 4, 3, 3)])
    back = boxes_.crop_backward([grad, boxes, images], {}, [_Room(*x.shape)])
    np.testing.assert_allclose((back * x).sum(), (plain * grad).sum())


def test_blocks_go_to_the_batch_and_back() -> None:
    x = np.arange(2 * 3 * 4 * 6).reshape(2, 3, 4, 6)
    there = boxes_.space_to_blocks(_Given([x, np.array([2, 2]), np.array([[0, 0], [1, 1]])]), {}, None)
    assert there.shape == (8, 3, 2, 4)
    np.testing.assert_array_equal(there[0:2, :, :, 1:], x[:, :, ::2, 1::2])
    back = boxes_.blocks_to_space(_Given([there, np.array([2, 2]), np.array([[0, 0], [1, 1]])]), {}, None)
    np.testing.assert_array_equal(back, x)
    square = boxes_.space_to_blocks(_Given([x]), {"block_size": 2, "paddings": [0, 0, 0, 0]}, None)
    assert square.shape == (8, 3, 2, 3)


def _parameters(count: int = 3) -> Any:
    rng = np.random.default_rng(11)
    return [rng.random((4, 2)) for _ in range(count)]


@pytest.mark.parametrize("nesterov", [False, True])
def test_rows_without_a_gradient_move_or_are_left_alone(nesterov: bool) -> None:
    numbers = [np.array(v) for v in (0.9, 0.999, 0.1, 0.9, 0.999, 1e-8)]
    grad, rows = np.ones((3, 2)), np.array([1, 3, 1])
    var, mean, squares = _parameters()
    summed = np.zeros((4, 2))
    summed[1], summed[3] = 2, 1
    found = optimizer_sparse.adam(*_parameters(), *numbers, grad, rows, use_nesterov=nesterov)
    step = 0.1 * np.sqrt(1 - 0.999) / (1 - 0.9)
    new_mean, new_squares = 0.9 * mean + 0.1 * summed, 0.999 * squares + 0.001 * summed**2
    moved = np.where(summed > 0, 0.9 * new_mean + 0.1 * summed, new_mean) if nesterov else new_mean
    np.testing.assert_allclose(found[0], var - step * moved / (np.sqrt(new_squares) + 1e-8))
    alone = optimizer_sparse.lazy_adam(*_parameters(), *numbers, grad, rows, use_nesterov=nesterov)
    np.testing.assert_allclose(alone[0][[1, 3]], found[0][[1, 3]])
    np.testing.assert_array_equal(alone[0][[0, 2]], var[[0, 2]])


def test_ftrl_with_shrinkage_is_the_plain_one_where_there_is_none() -> None:
    grad, rows = np.random.default_rng(12).random((2, 2)), np.array([0, 2])
    options = {"lr": 0.1, "l1": 0.01, "l2": 0.02, "lr_power": -0.5}
    plain = optimizer_sparse.ftrl(*_parameters(), grad, rows, **options)
    same = optimizer_sparse.ftrl(*_parameters(), grad, rows, **options, l2_shrinkage=0.0)
    for one, other in zip(plain, same, strict=True):
        np.testing.assert_allclose(one, other)
    shrunk = optimizer_sparse.ftrl(*_parameters(), grad, rows, **options, l2_shrinkage=0.5)
    np.testing.assert_allclose(shrunk[2][rows] - same[2][rows], _parameters()[0][rows])


def test_gradients_of_factors_and_losses_are_those_of_torch() -> None:
    x = torch.randn(3, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    matrix = (x @ x.T + 3 * torch.eye(3)).requires_grad_()
    factor = torch.linalg.cholesky(matrix)
    grad = torch.randn(3, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(2)).tril()
    (expected,) = torch.autograd.grad(factor, matrix, grad)
    found = older_matrix.cholesky_backward(factor.detach().numpy(), grad.numpy())
    np.testing.assert_allclose(found, expected.numpy(), rtol=1e-6, atol=1e-9)
    scores = torch.randn(2, 4, generator=torch.Generator().manual_seed(3)).requires_grad_()
    target = torch.tensor([[2, 1, -1, 1], [3, 0, -1, 1]])
    loss = torch.nn.functional.multilabel_margin_loss(scores, target)
    (expected,) = torch.autograd.grad(loss, scores)
    marked = older_loss.multilabel([scores.detach().numpy(), target.numpy()], {}, None)[1]
    given = [np.ones(()), scores.detach().numpy(), target.numpy(), marked]
    np.testing.assert_allclose(older_loss.multilabel_backward(given, {}, None), expected.numpy(), rtol=1e-5)


def test_second_gradients_of_layer_norm_are_those_of_torch() -> None:
    draw = torch.Generator().manual_seed(4)
    x, grad = (torch.randn(3, 5, dtype=torch.float64, generator=draw).requires_grad_() for _ in range(2))
    weight, bias = (torch.randn(5, dtype=torch.float64, generator=draw).requires_grad_() for _ in range(2))
    out = torch.nn.functional.layer_norm(x, (5,), weight, bias, 1e-12)
    first = torch.autograd.grad(out, (x, weight, bias), grad, create_graph=True)
    given = [torch.randn(one.shape, dtype=torch.float64, generator=draw) for one in first]
    expected = torch.autograd.grad(first, (x, grad, weight), given)
    inputs = [one.detach().numpy() for one in (x, grad, x.var(-1, unbiased=False), x.mean(-1), weight, *given)]
    found = norm.layer_norm_second(*inputs, begin_norm_axis=-1, begin_params_axis=-1)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other.numpy(), rtol=1e-6, atol=1e-9)
    same = norm.layer_norm_second(*inputs, np.array(1), np.array([1]))
    np.testing.assert_array_equal(same[0], found[0])


def test_samples_have_their_distribution_and_their_seed() -> None:
    room, seeded = [_Room(4000)], {"seed": 3, "seed2": 4}
    counts = drawing.poisson(_Given([None, np.array([5.0])]), seeded, room)
    assert abs(counts.mean() - 5) < 0.2 and abs(counts.var() - 5) < 0.5
    np.testing.assert_array_equal(counts, drawing.poisson(_Given([None, np.array([5.0])]), seeded, room))
    sizes = drawing.gamma(_Given([None, np.array([2.0]), np.array([4.0])]), seeded, room)
    assert abs(sizes.mean() - 0.5) < 0.03
    mask = np.array([[True, False, True], [False, True, False]])
    places, filled = drawing.choose([mask], seeded, [_Room(4, 2)])
    assert {tuple(place) for place in places[:3]} == {(0, 0), (0, 2), (1, 1)} and filled.tolist() == [True] * 3 + [
        False
    ]
    options = {**seeded, "num_sampled": 5, "range_max": 5, "unique": True}
    classes, of_true, of_sampled = drawing.log_uniform([np.array([[0, 1]])], options, None)
    assert sorted(classes) == [0, 1, 2, 3, 4] and of_true.shape == (1, 2) and (of_sampled <= 1).all()
    assert of_true[0, 0] > of_true[0, 1]
    x, kept = drawing.drop_channels([np.ones((50, 8, 2, 2))], {**seeded, "keep_prob": 0.25}, [SimpleNamespace(type=0)])
    assert set(np.unique(x)) == {0, 4} and (x.std((2, 3)) == 0).all() and abs(kept.mean() - 0.25) < 0.06


@pytest.mark.parametrize("later", [0, 1])
def test_tokens_go_to_experts_until_they_are_full(later: int) -> None:
    """The loops of MindSpore's own kernel, one token after another."""
    chosen = np.random.default_rng(3).integers(0, 4, (2, 9, 2)).astype(np.int32)
    sent, back = np.zeros((2, 4, 3), np.int32), np.zeros_like(chosen)
    for group in range(2):
        full = [0] * 4
        steps = [(token, choice) for token in range(9) for choice in range(2)]
        for token, choice in sorted(steps, key=lambda step: step[::-1]) if later else steps:
            expert = chosen[group, token, choice]
            back[group, token, choice] = expert * 4
            if full[expert] < 3:
                sent[group, expert, full[expert]] = token + 1
                full[expert] += 1
                back[group, token, choice] += full[expert]
    found = experts.places_of_tokens(Inputs([chosen, 3, 4, later], []), {}, [])
    np.testing.assert_array_equal(found[0], sent)
    np.testing.assert_array_equal(found[1], back)
