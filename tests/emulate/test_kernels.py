"""The kernels that MindSpore's operators run on, against numpy; both ways to call them."""

from __future__ import annotations

from typing import Any

import pytest

np = pytest.importorskip("numpy")

from stand_ins import CUBE, Library  # noqa: E402

from jumar.emulate import coverage  # noqa: E402


@pytest.fixture
def rng() -> Any:
    return np.random.default_rng(3)


def _like(reference: Any, kind: str = "float32") -> Any:
    return np.zeros(np.shape(reference), kind)


BINARY = {
    "aclnnMul": np.multiply, "aclnnDiv": np.divide, "aclnnMaximum": np.maximum, "aclnnMinimum": np.minimum,
    "aclnnPowTensorTensor": lambda x, y: np.power(np.abs(x), y), "aclnnRemainderTensorTensor": np.remainder,
    "aclnnFloorDivide": np.floor_divide,
}  # fmt: skip
UNARY = {
    "aclnnAbs": np.abs, "aclnnExp": np.exp, "aclnnFloor": np.floor, "aclnnNeg": np.negative, "aclnnSign": np.sign,
    "aclnnTanh": np.tanh, "aclnnSigmoid": lambda x: 1 / (1 + np.exp(-x)), "aclnnRelu": lambda x: np.maximum(x, 0),
    "aclnnSilu": lambda x: x / (1 + np.exp(-x)), "aclnnCos": np.cos, "aclnnRound": np.round,
}  # fmt: skip
COMPARISONS = {
    "aclnnEqTensor": np.equal, "aclnnNeTensor": np.not_equal, "aclnnGtTensor": np.greater,
    "aclnnGeTensor": np.greater_equal, "aclnnLtTensor": np.less, "aclnnLeTensor": np.less_equal,
}  # fmt: skip


@pytest.mark.parametrize("name", BINARY)
def test_binary_broadcasts(card: Library, rng: Any, name: str) -> None:
    x, y = rng.normal(size=(4, 1, 3)).astype("float32"), rng.normal(size=(2, 3)).astype("float32") + 3
    expected = BINARY[name](x, y)
    if name == "aclnnPowTensorTensor":
        x = np.abs(x)
    assert np.allclose(card.run(name, x, y, _like(expected)), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("kind", ["float32", "float16", "float64"])
def test_unary(card: Library, rng: Any, name: str, kind: str) -> None:
    x = rng.normal(size=(5, 7)).astype(kind)
    expected = UNARY[name](x.astype("float64"))
    assert np.allclose(card.run(name, x, _like(x, kind)), expected, rtol=2e-3 if kind == "float16" else 1e-5, atol=1e-3)


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparison(card: Library, name: str) -> None:
    x, y = np.array([1, 2, 3, 2**40]), np.array([3, 2, 1, 2**40 + 1])
    assert (card.run(name, x, y, np.zeros(4, bool)) == COMPARISONS[name](x, y)).all()


def test_large_integers_are_exact(card: Library) -> None:
    x = np.array([2**53 + 1, -(2**53) - 1])
    assert (card.run("aclnnMul", x, np.array([3, 3]), np.zeros(2, "int64")) == x * 3).all()


def test_strides_are_followed(card: Library, rng: Any) -> None:
    x = rng.normal(size=(6, 4)).astype("float32")
    out = np.zeros((4, 6), "float32")
    card.run("aclnnAdd", x.T, x.T, 0.5, out)
    assert np.allclose(out, 1.5 * x.T)
    card.run("aclnnMul", x, x, out.T)
    assert np.allclose(out, (x * x).T)


def test_number_argument(card: Library) -> None:
    x = np.array([1, 2, 3], "int32")
    assert (card.run("aclnnMuls", x, 2.5, np.zeros(3, "float32")) == [2.5, 5.0, 7.5]).all()
    assert (card.run("aclnnAdds", x, 4.0, 2.0, np.zeros(3, "int32")) == [9, 10, 11]).all()


@pytest.mark.parametrize(("left", "right"), [((3, 4), (4, 5)), ((2, 3, 4), (4, 5)), ((2, 1, 3, 4), (5, 4, 2))])
def test_matrices(card: Library, rng: Any, left: tuple[int, ...], right: tuple[int, ...]) -> None:
    x, y = rng.normal(size=left).astype("float32"), rng.normal(size=right).astype("float32")
    assert np.allclose(card.run("aclnnMatmul", x, y, _like(x @ y), CUBE), x @ y, atol=1e-5)


def test_long_product_of_transposed_matrices(card: Library, rng: Any) -> None:
    x, y = rng.normal(size=(300, 70)).astype("float32"), rng.normal(size=(200, 300)).astype("float32")
    assert np.allclose(card.run("aclnnMatmul", x.T, y.T, np.zeros((70, 200), "float32"), CUBE), x.T @ y.T, atol=1e-3)


def _convolution(x: Any, weight: Any, step: int, pad: int, gap: int, groups: int) -> Any:
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    size = (weight.shape[2] - 1) * gap + 1
    height, width = ((extent - size) // step + 1 for extent in x.shape[2:])
    out = np.zeros((len(x), len(weight), height, width))
    per = len(weight) // groups
    for f in range(len(weight)):
        part = x[:, f // per * weight.shape[1] : (f // per + 1) * weight.shape[1]]
        for i in range(height):
            for j in range(width):
                window = part[:, :, i * step : i * step + size : gap, j * step : j * step + size : gap]
                out[:, f, i, j] = (window * weight[f]).sum((1, 2, 3))
    return out


@pytest.mark.parametrize(("step", "pad", "gap", "groups"), [(1, 0, 1, 1), (2, 1, 1, 1), (1, 2, 2, 1), (1, 1, 1, 2)])
def test_convolution_and_its_gradients(card: Library, rng: Any, step: int, pad: int, gap: int, groups: int) -> None:
    x, weight = rng.normal(size=(2, 4, 7, 6)), rng.normal(size=(6, 4 // groups, 3, 3))
    expected = _convolution(x, weight, step, pad, gap, groups)
    options = [[step, step], [pad, pad], [gap, gap], False, [0, 0], groups]
    out = card.run("aclnnConvolution", x, weight, None, *options, np.zeros(expected.shape), CUBE)
    assert np.allclose(out, expected)
    grad = rng.normal(size=expected.shape)
    to_x, to_weight, to_bias = np.zeros_like(x), np.zeros_like(weight), np.zeros(6)
    card.run("aclnnConvolutionBackward", grad, x, weight, [6], *options, [True] * 3, CUBE, to_x, to_weight, to_bias)
    assert np.allclose(to_bias, grad.sum((0, 2, 3)))
    for values, gradient in ((x, to_x), (weight, to_weight)):  # along one direction, by differences
        way = rng.normal(size=values.shape)
        moved = [_convolution(x + s * way, weight, step, pad, gap, groups) if values is x
                 else _convolution(x, weight + s * way, step, pad, gap, groups) for s in (1e-4, -1e-4)]  # fmt: skip
        assert np.isclose((gradient * way).sum(), ((moved[0] - moved[1]) * grad).sum() / 2e-4, rtol=1e-6)


def test_pooling_and_its_gradients(card: Library, rng: Any) -> None:
    x = rng.normal(size=(2, 3, 4, 6)).astype("float32")
    blocks = x.reshape(2, 3, 2, 2, 3, 2)
    window = [[2, 2], [2, 2], [0, 0]]
    pooled = card.run("aclnnMaxPool2dWithIndices", x, *window, [1, 1], False, _like(blocks.max((3, 5))),
                      None)  # fmt: skip
    assert (pooled == blocks.max((3, 5))).all()
    grad = rng.normal(size=pooled.shape).astype("float32")
    back = card.run("aclnnMaxPool2dWithIndicesBackward", grad, x, None, *window, [1, 1], False, _like(x))
    assert np.allclose(back, np.where(x == pooled.repeat(2, 2).repeat(2, 3), grad.repeat(2, 2).repeat(2, 3), 0))
    mean = card.run("aclnnAvgPool2d", x, *window, False, True, 0, CUBE, _like(pooled))
    assert np.allclose(mean, blocks.mean((3, 5)), atol=1e-6)


@pytest.mark.parametrize("axes", [[0], [1, 2], [-1], []])
def test_reductions(card: Library, rng: Any, axes: list[int]) -> None:
    x = rng.normal(size=(3, 4, 5)).astype("float32")
    over = tuple(axes) or None
    for name, reference in (("aclnnReduceSum", np.sum), ("aclnnMean", np.mean)):
        expected = reference(x, over)
        assert np.allclose(card.run(name, x, axes, False, 0, _like(expected)), expected, atol=1e-5)
    assert (card.run("aclnnAmax", x, axes, True, _like(x.max(over))) == x.max(over)).all()


def test_place_of_the_largest(card: Library) -> None:
    x = np.array([[1, 5, 5], [7, 2, 3]], "float32")
    assert card.run("aclnnArgMax", x, 1, False, np.zeros(2, "int64")).tolist() == [1, 0]


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_softmax_and_its_gradient(card: Library, rng: Any, axis: int) -> None:
    x, grad = rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 3, 4))
    soft = np.exp(x) / np.exp(x).sum(axis, keepdims=True)
    assert np.allclose(card.run("aclnnSoftmax", x, axis, np.zeros_like(x)), soft)
    assert np.allclose(card.run("aclnnLogSoftmax", x, axis, np.zeros_like(x)), np.log(soft))
    expected = soft * (grad - (grad * soft).sum(axis, keepdims=True))
    assert np.allclose(card.run("aclnnSoftmaxBackward", grad, soft, axis, np.zeros_like(x)), expected)


def test_layer_norm(card: Library, rng: Any) -> None:
    x, weight, bias = rng.normal(size=(4, 6)), rng.normal(size=6), rng.normal(size=6)
    mean, inverse, out = np.zeros((4, 1)), np.zeros((4, 1)), np.zeros_like(x)
    import ctypes

    assert card.call("aclnnLayerNorm", x, [6], weight, bias, ctypes.c_double(1e-5), out, mean, inverse) == 0
    scaled = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    assert np.allclose(out, scaled * weight + bias)


def test_lookups_and_joins(card: Library, rng: Any) -> None:
    x = rng.normal(size=(5, 3)).astype("float32")
    index = np.array([4, 0, -1])
    assert (card.run("aclnnEmbedding", x, index, _like(x[index])) == x[index]).all()
    assert (card.run("aclnnCat", [x, x], 1, np.zeros((5, 6), "float32")) == np.hstack([x, x])).all()
    assert (card.run("aclnnRepeat", x, [2, 1, 3], np.zeros((2, 5, 9), "float32")) == np.tile(x, (2, 1, 3))).all()
    assert (card.run("aclnnPermute", x, [1, 0], np.zeros((3, 5), "float32")) == x.T).all()
    places = np.array([[0], [2], [1], [1], [0]])
    gathered = np.take_along_axis(x, places, 1)
    assert (card.run("aclnnGather", x, 1, places, _like(gathered)) == gathered).all()


def test_bad_index_says_which(card: Library) -> None:
    assert card.call("aclnnEmbedding", np.zeros((5, 3), "float32"), np.array([7]), np.zeros((1, 3), "float32")) != 0
    assert "`aclnnEmbedding`: index 7 is out of range for 5" in card.error()


def test_shapes_that_do_not_fit_are_named(card: Library) -> None:
    assert card.call("aclnnMul", np.zeros((2, 3)), np.zeros((4,)), np.zeros((2, 3))) != 0
    assert "shape [4] cannot be broadcast to [2, 3]" in card.error()


def test_optimizers_by_type(card: Library, rng: Any) -> None:
    start, grad = rng.normal(size=5).astype("float32"), rng.normal(size=5).astype("float32")
    value, state = start.copy(), np.ones(5, "float32")
    number = [np.array(n, "float32") for n in (0.1, 0.9)]
    assert card.by_type("ApplyMomentum", [value, state, number[0], grad, number[1]], [value], use_nesterov=False) == 0
    assert np.allclose(state, 0.9 + grad) and np.allclose(value, start - 0.1 * (0.9 + grad))
    value, mean, square = start.copy(), np.zeros(5, "float32"), np.zeros(5, "float32")
    options = [np.array(n, "float32") for n in (0.9, 0.999, 0.01, 0.9, 0.999, 1e-8)]
    assert card.by_type("ApplyAdam", [value, mean, square, *options, grad], [value]) == 0
    assert np.allclose(value, start - 0.01 * np.sign(grad), atol=1e-5)


def test_network_by_type(card: Library, rng: Any) -> None:
    x, weight = rng.normal(size=(1, 2, 5, 5)), rng.normal(size=(3, 2, 3, 3))
    expected = _convolution(x, weight, 1, 1, 1, 1)
    out = np.zeros(expected.shape)
    options = {"strides": [1, 1, 1, 1], "pads": [1, 1, 1, 1], "dilations": [1, 1, 1, 1], "groups": 1}
    assert card.by_type("Conv2D", [x, weight], [out], data_format="NCHW", **options) == 0
    assert np.allclose(out, expected)
    assert card.by_type("Conv2D", [x, weight], [out], data_format="NHWC", **options) != 0
    assert "operator `Conv2D`: data format NHWC is not emulated" in card.error()
    labels, scores = np.eye(4)[:3], rng.normal(size=(3, 4))
    loss, gradient = np.zeros(3), np.zeros((3, 4))
    assert card.by_type("SoftmaxCrossEntropyWithLogits", [scores, labels], [loss, gradient]) == 0
    soft = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    assert np.allclose(loss, -np.log(soft[np.arange(3), np.arange(3)])) and np.allclose(gradient, soft - labels)


@pytest.mark.parametrize("kind", ["float32", "float16", "int64", "bool"])
def test_a_view_of_memory_by_type(card: Library, rng: Any, kind: str) -> None:
    memory = (rng.normal(size=(4, 6, 10)) * 9).astype(kind)
    view = memory[1:, :, 3:8].transpose(2, 0, 1)
    strides = np.array([step // memory.itemsize for step in view.strides])
    sizes, begin, out = np.array(view.shape), np.array([63]), np.zeros(view.shape, kind)
    assert card.by_type("AsStrided", [memory, sizes, strides, begin], [out]) == 0
    assert np.array_equal(out, view)
    repeated = np.zeros((2, 3), kind)
    assert card.by_type("AsStrided", [memory, np.array([2, 3]), np.array([0, 1]), np.array([0])], [repeated]) == 0
    assert np.array_equal(repeated, np.broadcast_to(memory.ravel()[:3], (2, 3)))
    assert card.by_type("AsStrided", [memory, sizes, strides, begin + 20], [out]) != 0
    assert "reach outside of 240 elements" in card.error()


def test_unknown_type_refuses_by_name(card: Library) -> None:
    assert card.by_type("FlyToTheMoon", [], []) == 100024
    assert "operator `FlyToTheMoon` (aclopCompileAndExecute) is not emulated" in card.error()


def test_list_of_operators_that_work_is_right(card: Library, numpy_kernels: None) -> None:
    invalid, refused = 100000, 561112
    listed = {item.name: item.state for item in coverage.read().functions if item.library == "libopapi.so"}
    there = {name for name in listed if card.state(name) == invalid}
    assert there == {name for name, state in listed.items() if state == "works"}
    assert card.state("aclnnFFNV2") == refused
    types = [item.name for item in coverage.read().functions if item.library == "libacl_op_compiler.so"]
    for kind in (name for name in types if not name.startswith("acl")):
        assert card.by_type(kind, [], []) == invalid, kind
