"""More operators of the older interface in MindSpore's process: routers, boxes, colours, second gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as functional
from stand_ins import Library, drawn, run

from jumar.emulate.mindspore_ops import attention
from jumar.emulate.mindspore_ops.registry import NotEmulated

pytestmark = pytest.mark.usefixtures("numpy_kernels")


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("training", [False, True])
def test_second_gradient_of_batch_norm(card: Library, training: bool, last: bool) -> None:
    x, grad = (torch.from_numpy(drawn(4, 3, 5, 2, kind="float64")).requires_grad_() for _ in range(2))
    grad = (grad.detach() * 0.3 + 1).requires_grad_()
    scale, bias = torch.from_numpy(drawn(3, kind="float64")).requires_grad_(), torch.zeros(3).double()
    bias.requires_grad_()
    mean, variance = (x.mean((0, 2, 3)), x.var((0, 2, 3), unbiased=False)) if training else (bias + 0.1, bias + 2)
    mean, variance = mean.detach(), variance.detach()
    out = functional.batch_norm(x, mean.clone(), variance.clone(), scale, bias, training, 0.1, 1e-5)
    first = torch.autograd.grad(out, [x, scale, bias], grad, create_graph=True)
    seconds = [
        torch.from_numpy(drawn(4, 3, 5, 2, kind="float64")[::-1].copy()),
        *torch.from_numpy(drawn(2, 3)).double(),
    ]
    expected = torch.autograd.grad(first, [x, grad, scale], seconds)

    def placed(one: Any) -> Any:
        values = one.detach().numpy().astype(np.float32)
        return np.ascontiguousarray(np.moveaxis(values, 1, -1) if last and values.ndim > 1 else values)

    inputs = [placed(one) for one in (x, grad, scale, mean, variance, *seconds)]
    outs = [np.zeros_like(placed(one)) for one in expected]
    run(card, "CustBatchNormGradGrad", inputs, *outs, is_training=training, epsilon=1e-5,
         data_format="NHWC" if last else "NCHW")  # fmt: skip
    for found, wanted in zip(outs, expected):
        np.testing.assert_allclose(found, placed(wanted), rtol=1e-3, atol=1e-4)


def test_axes_and_values_of_layouts(card: Library) -> None:
    x = np.array([0, 1, 2, 3, -1, -2], np.int32)
    found = run(card, "DataFormatDimMap", [x], np.zeros_like(x), src_format="NCHW", dst_format="NHWC")
    assert found.tolist() == [0, 3, 1, 2, 2, 1]
    sizes = np.array([5, 6, 7, 8], np.int32)
    found = run(card, "DataFormatVecPermute", [sizes], np.zeros_like(sizes), src_format="NHWC", dst_format="NCHW")
    assert found.tolist() == [5, 8, 6, 7]
    pair = np.array([6, 7], np.int32)
    assert run(
        card, "DataFormatVecPermute", [pair], np.zeros_like(pair), src_format="NHWC", dst_format="NCHW"
    ).tolist() == [6, 7]


def test_steps_of_came(card: Library) -> None:
    grad, epsilon = drawn(6, 4), np.array([1e-3], np.float32)
    rows, columns, whole = np.zeros(6, np.float32), np.zeros(4, np.float32), np.zeros(1, np.float32)
    run(card, "ApplyCamePart1", [grad, epsilon], rows, columns, whole)
    squares = grad**2 + 1e-3
    np.testing.assert_allclose(rows, squares.sum(1), rtol=1e-5)
    np.testing.assert_allclose(columns, squares.sum(0), rtol=1e-5)
    np.testing.assert_allclose(whole, squares.sum(), rtol=1e-5)
    old, older = np.abs(drawn(6)), np.abs(drawn(4))
    outs = [np.zeros(6, np.float32), np.zeros(4, np.float32), np.zeros((6, 4), np.float32), np.zeros(1, np.float32)]
    beta = np.array([0.9], np.float32)
    run(card, "ApplyCamePart2", [grad, rows, columns, whole, old, older, beta], *outs)
    new, newer = 0.9 * old + 0.1 * squares.mean(1), 0.9 * older + 0.1 * squares.mean(0)
    step = grad / np.sqrt(np.outer(new, newer) / new.mean())
    for found, wanted in zip(outs, (new, newer, step, np.square(step).sum())):
        np.testing.assert_allclose(found, wanted, rtol=1e-4)


def test_last_steps_of_came(card: Library) -> None:
    step, moment = drawn(6, 4), drawn(4, 6).T.copy()
    numbers = [np.array([one], np.float32) for one in (1e-3, 0.9, 0.5, 60.0)]
    outs = [np.zeros((6, 4), np.float32), np.zeros(6, np.float32), np.zeros(4, np.float32), np.zeros(1, np.float32)]
    run(card, "ApplyCamePart3", [step, moment, *numbers, np.array([6, 4])], *outs, use_first_moment=True)
    clipped = step / (60 / 24 / 0.5)
    new = 0.9 * moment + 0.1 * clipped
    found = (clipped - new) ** 2 + 1e-3
    for one, wanted in zip(outs, (new, found.sum(1), found.sum(0), found.sum())):
        np.testing.assert_allclose(one, wanted, rtol=1e-4)
    parameter, rows, columns = drawn(6, 4) + 1, np.abs(drawn(6)), np.abs(drawn(4))
    means = 0.8 * rows + 0.2 * found.mean(1), 0.8 * columns + 0.2 * found.mean(0)
    wanted = (1 - 0.1 * 0.3) * parameter - 0.1 * new / np.sqrt(np.outer(*means) / means[0].mean())
    decay, rate, beta = (np.array([one], np.float32) for one in (0.3, 0.1, 0.8))
    total = np.array([rows.sum()], np.float32)
    inputs = [parameter, outs[0], rows, columns, decay, rate, beta, total, *outs[1:], np.array([6, 4])]
    run(card, "ApplyCamePart4", inputs, np.zeros((6, 4), np.float32), np.zeros(6, np.float32), np.zeros(4, np.float32))
    for one, expected in zip((parameter, rows, columns), (wanted, *means)):
        np.testing.assert_allclose(one, expected, rtol=1e-4)


def test_tokens_go_to_experts_with_room(card: Library) -> None:
    chosen = np.array([[[0, 1], [1, 3], [3, 2], [2, 2], [2, 0], [0, 1]]], np.int32)
    taken, found = np.zeros((1, 4, 2), np.int32), np.zeros_like(chosen)
    run(card, "CustTopKRouter", [chosen, np.array([2]), np.array([4])], taken, found)
    assert taken.tolist() == [[[1, 5], [1, 2], [3, 4], [2, 3]]]
    assert found.tolist() == [[[1, 4], [5, 10], [11, 7], [8, 6], [6, 2], [0, 3]]]


def test_tokens_beyond_the_room_of_an_expert_are_dropped(card: Library) -> None:
    """The numbers of MindSpore's documentation."""
    x = np.array([[0.1, 0.2, 0.3], [0.2, 0.7, 0.8], [0.3, 0.3, 0.5]], np.float32)
    experts = np.array([[0, 1, 1], [2, 1, 1], [0, 0, 0]], np.int32)
    rooms, places = np.ones((3, 2, 3), np.float32), np.zeros(9, np.int32)
    counts, before = np.zeros(3, np.int32), np.zeros(3, np.int32)
    code = card.call("aclnnMoeInitRoutingV2", x, experts, 3, 2, 3, 1, 0, True, rooms, places, counts, before)
    assert code == 0, card.error()
    assert places.tolist() == [0, 2, 3, 4, -1, -1, 1, -1, -1] and before.tolist() == [4, 4, 1]
    np.testing.assert_array_equal(rooms, [x[[0, 2]], x[[0, 0]], [x[1], [0, 0, 0]]])


@pytest.mark.parametrize("activation", ["fastgelu", "gelu", "relu", "silu", "swiglu"])
def test_layers_of_experts(card: Library, activation: str) -> None:
    x, first, bias = drawn(5, 4), drawn(2, 4, 6), drawn(2, 6)
    inner = 3 if activation == "swiglu" else 6
    second, end = drawn(2, inner, 4), drawn(2, 4)
    given = [x, first, second, [2, 3], bias, end, *[None] * 8, activation.encode(), 1, np.zeros((5, 4), np.float32)]
    found = card.run("aclnnFFN", *given)
    for expert, rows in enumerate((slice(0, 2), slice(2, 5))):
        middle = torch.from_numpy(x[rows] @ first[expert] + bias[expert])
        if activation == "swiglu":
            middle = functional.silu(middle[:, :3]) * middle[:, 3:]
        elif activation == "fastgelu":
            middle = middle * torch.sigmoid(1.702 * middle)
        elif activation == "gelu":
            middle = functional.gelu(middle, approximate="tanh")
        else:
            middle = getattr(functional, activation)(middle)
        np.testing.assert_allclose(found[rows], middle.numpy() @ second[expert] + end[expert], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("ceil", [False, True])
def test_largest_of_windows_and_their_places(card: Library, ceil: bool) -> None:
    x = drawn(2, 3, 7, 6)
    options: dict[str, Any] = {"kernel_size": (3, 2), "stride": (2, 2), "padding": (1, 1), "dilation": (1, 2)}
    tensor = torch.from_numpy(x).requires_grad_()
    expected, places = functional.max_pool2d(tensor, **options, ceil_mode=ceil, return_indices=True)
    out, found = np.zeros(expected.shape, np.float32), np.zeros(places.shape, np.int64)
    four = {"ksize": [1, 1, 3, 2], "strides": [1, 1, 2, 2], "pads": [1, 1, 1, 1], "dilation": [1, 1, 1, 2]}
    run(card, "MaxPoolWithArgmaxV2", [x], out, found, **four, ceil_mode=ceil)
    np.testing.assert_array_equal(out, expected.detach())
    np.testing.assert_array_equal(found, places)
    grad = drawn(*expected.shape)
    expected.backward(torch.from_numpy(grad))
    back = run(card, "MaxPoolGradWithArgmaxV2", [x, grad, found], np.zeros_like(x), **four)
    np.testing.assert_allclose(back, tensor.grad, rtol=1e-6)


@pytest.mark.parametrize(("padding", "edge"), [("VALID", 0), ("SAME", 1)])
def test_second_gradient_of_the_largest(card: Library, padding: str, edge: int) -> None:
    x, second = drawn(2, 3, 7, 7), drawn(2, 3, 7, 7)
    best, places = functional.max_pool2d(torch.from_numpy(x), 3, 2, edge, return_indices=True)
    out = np.zeros(best.shape, np.float32)
    run(card, "MaxPoolGradGrad", [x, best.numpy(), second], out, ksize=[1, 1, 3, 3], strides=[1, 1, 2, 2],
        padding=padding, data_format="NCHW")  # fmt: skip
    np.testing.assert_array_equal(out, torch.from_numpy(second).flatten(2).gather(2, places.flatten(2)).view(out.shape))


def test_rows_of_a_part_of_a_table(card: Library) -> None:
    table, places = drawn(4, 3), np.array([[5, 2], [9, 6]], np.int32)
    found = run(card, "EmbeddingLookup", [table, places, np.array([4])], np.ones((2, 2, 3), np.float32))
    np.testing.assert_array_equal(found, [[table[1], [0, 0, 0]], [[0, 0, 0], table[2]]])


def test_updates_beyond_the_end_change_nothing(card: Library) -> None:
    x, updates = np.ones((2, 3), np.float32), np.arange(1, 13, dtype=np.float32).reshape(2, 2, 3)
    run(card, "ScatterDiv", [x, np.array([[0, 2], [3, 1]], np.int32), updates], np.zeros_like(x))
    np.testing.assert_allclose(x, 1 / updates[[0, 1], [0, 1]], rtol=1e-6)
    x = np.zeros((2, 3), np.float32)
    run(card, "ScatterNdAdd", [x, np.array([[0, 1], [1, 3], [-1, 0]]), np.ones(3, np.float32)], np.zeros_like(x))
    assert x.tolist() == [[0, 1, 0], [0, 0, 0]]


@pytest.mark.parametrize("how", ["Max", "Min", "Mean", "Prod"])
def test_segments(card: Library, how: str) -> None:
    x, ids = drawn(5, 2), np.array([0, 0, 2, 2, 2])
    found = run(card, f"Segment{how}", [x, ids], np.ones((3, 2), np.float32))
    parts = [getattr(np, how.lower())(x[ids == at], 0) for at in (0, 2)]
    np.testing.assert_allclose(found[[0, 2]], parts, rtol=1e-6)
    assert found[1].tolist() == ([1, 1] if how == "Prod" else [0, 0])


@pytest.mark.parametrize("merged", [False, True])
def test_best_classes_of_each_step(card: Library, merged: bool) -> None:
    best = np.array([[0, 1], [0, 2], [2, 1], [0, 1]])
    scores = np.eye(3, dtype=np.float32)[best]
    places, values = np.zeros((8, 2), np.int64), np.zeros(8, np.int64)
    shape, total = np.zeros(2, np.int64), np.zeros((2, 1), np.float32)
    steps = np.array([4, 3], np.int32)
    run(card, "CTCGreedyDecoder", [scores, steps], places, values, shape, total, merge_repeated=merged)
    count = 4 if merged else 5
    assert values[:count].tolist() == ([0, 0, 1, 1] if merged else [0, 0, 0, 1, 1])
    assert places[:count, 0].tolist() == [0] * (count - 2) + [1, 1]
    assert shape.tolist() == [2, count - 2] and total.tolist() == [[-4], [-3]]


def test_labels_beyond_the_classes_are_refused_by_name(card: Library) -> None:
    logs, steps = drawn(4, 1, 3), np.array([4], np.int32)
    inputs = [logs, np.array([[1, 3]], np.int32), steps, np.array([2], np.int32)]
    assert card.by_type("CTCLossV2", inputs, [np.zeros(1, np.float32), np.zeros((1, 4, 5), np.float32)], blank=0) != 0
    assert "what a card reads for label 3 of 3 is not emulated" in card.error()


def test_distances_of_sequences(card: Library) -> None:
    guess = [np.array([[0, 0], [0, 1], [1, 0]]), np.array([1, 2, 3]), np.array([2, 2])]
    truth = [np.array([[0, 0], [0, 1], [0, 2]]), np.array([1, 3, 2]), np.array([2, 3])]
    for normalized, wanted in ((True, [1 / 3, np.inf]), (False, [1, 1])):
        found = run(card, "EditDistance", guess + truth, np.zeros(2, np.float32), normalize=normalized)
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4)])
def test_least_squares_and_their_gradient(card: Library, shape: tuple[int, int]) -> None:
    matrix = torch.from_numpy(drawn(*shape, kind="float64")).requires_grad_()
    right = torch.from_numpy(drawn(shape[0], 2, kind="float64")).requires_grad_()
    solution = torch.linalg.pinv(matrix) @ right
    grad = torch.from_numpy(drawn(shape[1], 2, kind="float64"))
    expected = torch.autograd.grad(solution, [matrix, right], grad)
    given = [matrix.detach().numpy(), right.detach().numpy()]
    outs = [np.zeros((shape[1], 2)), np.zeros(2), np.zeros((), np.int64), np.zeros(min(shape))]
    run(card, "CustLstsqV2", given, *outs)
    np.testing.assert_allclose(outs[0], solution.detach(), rtol=1e-6)
    assert outs[2] == min(shape)
    np.testing.assert_allclose(outs[3], torch.linalg.svdvals(matrix).detach(), rtol=1e-6)
    backs = [np.zeros_like(one) for one in given]
    run(card, "CustLstsqV2Grad", [grad.numpy(), *given], *backs)
    for found, wanted in zip(backs, expected):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-9)


def test_transforms_of_real_spectra(card: Library) -> None:
    x = (drawn(4, 5) + 1j * drawn(5, 4).T).astype(np.complex64)
    for norm, kind in ((0, "HFFT2"), (2, "HFFTN")):
        mode = {0: "backward", 2: "ortho"}[norm]
        expected = torch.fft.hfftn(torch.from_numpy(x), norm=mode).numpy()
        given = [x, np.zeros(0, np.int64), np.zeros(0, np.int64), np.array([norm])]
        found = run(card, f"Cust{kind}", given, np.zeros(expected.shape, np.float32))
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
        real = drawn(4, 6)
        expected = torch.fft.ihfftn(torch.from_numpy(real), norm=mode).resolve_conj().numpy()
        given = [real, np.zeros(0, np.int64), np.zeros(0, np.int64), np.array([norm])]
        found = run(card, f"CustI{kind}", given, np.zeros(expected.shape, np.complex64))
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    found = run(card, "CustFFTFreq", [np.array([5]), np.array([0.5], np.float32)], np.zeros(5, np.float32))
    np.testing.assert_allclose(found, np.fft.fftfreq(5, 0.5), rtol=1e-6)


def test_traces_of_other_diagonals(card: Library) -> None:
    x = drawn(3, 4, 5)
    options = [np.array([1]), np.array([0]), np.array([2]), np.array([43])]
    found = run(card, "CustTraceV2", [x, *options], np.zeros(4, np.float32))
    np.testing.assert_allclose(found, np.trace(x, 1, 0, 2), rtol=1e-5)
    back = run(card, "CustTraceV2Grad", [found, np.array([3, 4, 5]), *options[:3]], np.zeros_like(x))
    expected = np.zeros_like(x)
    for row in range(3):
        expected[row, :, row + 1] = found
    np.testing.assert_allclose(back, expected)


def test_channels_are_dropped_in_float16(card: Library) -> None:
    x = drawn(3, 4, 2, 2, 2, kind="float16")
    out, mask = np.zeros_like(x), np.zeros(x.shape, bool)
    run(card, "Dropout3D", [x], out, mask, keep_prob=0.7)
    np.testing.assert_array_equal(out, np.where(mask, x / np.float16(0.7), 0))
    assert (mask.reshape(12, -1).all(1) | ~mask.reshape(12, -1).any(1)).all()


def test_sums_of_lists_of_unknown_length_are_described_as_numbers(card: Library) -> None:
    parts = [np.array([one]) for one in (1, 2, 3, 5)]
    assert run(card, "AddN", parts, np.zeros((), np.int64), N=4) == 11


def test_other_small_ones(card: Library) -> None:
    x = drawn(3, 4)
    mask = x > 0
    updates = np.arange(12, dtype=np.float32)
    wanted = torch.from_numpy(x).masked_scatter(torch.from_numpy(mask), torch.from_numpy(updates))
    np.testing.assert_array_equal(run(card, "MaskedScatter", [x, mask, updates], np.zeros_like(x)), wanted)
    found = run(card, "CustConcatOffset", [x, drawn(2, 4), drawn(5, 4)], np.zeros((3, 2), np.int64), axis=0)
    assert found.tolist() == [[0, 0], [3, 0], [5, 0]]
    parts = [np.array([0, 2], np.int32), np.array([1, 2], np.int32), drawn(2, 3), drawn(3, 2).T.copy()]
    found = run(card, "DynamicStitch", parts, np.zeros((3, 3), np.float32), N=2)
    np.testing.assert_array_equal(found, [parts[2][0], parts[3][0], parts[3][1]])
    gated = run(card, "GLU", [x], np.zeros((3, 2), np.float32), dim=-1)
    np.testing.assert_allclose(gated, functional.glu(torch.from_numpy(x)), rtol=1e-5)
    padded = drawn(5, 7)
    edges = np.array([[1, 1], [2, 1]])
    tensor = torch.zeros(1, 3, 4, requires_grad=True)
    functional.pad(tensor, (2, 1, 1, 1), mode="reflect").backward(torch.from_numpy(padded)[None])
    assert tensor.grad is not None
    found = run(card, "MirrorPadGrad", [padded, edges], np.zeros((3, 4), np.float32), mode="REFLECT")
    np.testing.assert_allclose(found, tensor.grad[0], rtol=1e-5, atol=1e-6)
    quantized = run(card, "AscendQuant", [x], np.zeros((3, 4), np.int8), scale=20.0, offset=3.0, round_mode="Round")
    np.testing.assert_array_equal(quantized, np.clip(np.rint(x * 20 + 3), -128, 127))
    assert card.by_type("CheckNumerics", [np.array([1, np.inf], np.float32)], [np.zeros(2, np.float32)]) != 0
    assert "infinite" in card.error()


def test_slopes_of_attention_are_rounded_as_on_a_card() -> None:
    """With one key the softmax is flat: what is left is how the two units of a card round their sums."""
    rng = np.random.default_rng(2)
    query, key, value, grad = (
        rng.uniform(-1, 1, (1, 1, 1, 16)).astype(np.float16).astype(np.float32) for _ in range(4)
    )
    products = (grad * value).reshape(-1)
    pairs = products
    while len(pairs) > 1:
        pairs = pairs[::2] + pairs[1::2]
    left = np.float32(products.astype(np.float64).sum()) - pairs[0]
    to_query, to_key, _ = attention.backward(attention.Call(1, "BNSD", 1.0), query, key, value, grad)
    assert abs(left) < 1e-6
    np.testing.assert_array_equal(to_query, left * key)
    np.testing.assert_array_equal(to_key, left * query)


def test_a_mask_hides_and_is_not_added() -> None:
    """CANN's operator takes zeros and ones; MindSpore's own kernels for inference add what the mask has."""
    x = drawn(1, 1, 2, 4)
    hidden = np.triu(np.ones((1, 1, 2, 2), np.float32), 1)
    seen, *_ = attention.forward(attention.Call(1, "BNSD", 1.0, mask=hidden), x, x, x)
    np.testing.assert_allclose(seen[0, 0, 0], x[0, 0, 0], rtol=1e-6)
    with pytest.raises(NotEmulated, match="added to the scores"):
        attention.forward(attention.Call(1, "BNSD", 1.0, mask=-10000 * hidden), x, x, x)


def test_unique_rows_say_how_many_they_are(card: Library) -> None:
    x = np.array([[1, 2, 1, 2], [3, 4, 3, 4]])
    out, places, counts = np.zeros((2, 4), np.int64), np.full(9, -1), np.full(9, -1)
    assert card.call("aclnnUniqueDim", x, True, True, 1, out, places, counts) == 0, card.error()
    assert places[:4].tolist() == [0, 1, 0, 1] and counts[:2].tolist() == [2, 2]
    assert places[4:].tolist() == [-1] * 5
