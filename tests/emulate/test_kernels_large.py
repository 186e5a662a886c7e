"""Kernels on tensors that are large enough for several threads and for the BLAS of the process, against PyTorch."""

from __future__ import annotations

from collections.abc import Iterator
from ctypes import c_double
from typing import Any

import pytest

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")

from stand_ins import CUBE, Library  # noqa: E402


@pytest.fixture
def rng() -> Any:
    return np.random.default_rng(5)


@pytest.fixture(params=["blas", "plain"])
def blas(request: Any) -> Iterator[None]:
    if request.param == "blas":
        pytest.importorskip("scipy")
        request.getfixturevalue("numpy_kernels")
    yield


def _close(found: Any, expected: Any, tolerance: float = 2e-5) -> bool:
    wanted = expected.detach().numpy()
    return bool(np.abs(found - wanted).max() <= tolerance * max(1.0, float(np.abs(wanted).max())))


@pytest.mark.parametrize(
    ("kernel", "step", "pad", "gap", "groups"),
    [(1, 1, 0, 1, 1), (1, 2, 0, 1, 1), (3, 1, 1, 1, 1), (3, 2, 1, 1, 4), (3, 1, 4, 4, 1), (7, 2, 3, 1, 1)],
)
def test_convolution_of_many_images(
    card: Library, rng: Any, blas: None, kernel: int, step: int, pad: int, gap: int, groups: int
) -> None:
    x = rng.standard_normal((2, 16, 33, 47), dtype=np.float32)
    weight = rng.standard_normal((24, 16 // groups, kernel, kernel), dtype=np.float32)
    bias = rng.standard_normal(24, dtype=np.float32)
    leaves = [torch.tensor(one, requires_grad=True) for one in (x, weight, bias)]
    expected = torch.nn.functional.conv2d(*leaves, step, pad, gap, groups)
    options = ([step] * 2, [pad] * 2, [gap] * 2, False, [0, 0], groups)
    out = card.run("aclnnConvolution", x, weight, bias, *options, np.zeros(expected.shape, "float32"), CUBE)
    assert _close(out, expected)
    grad = rng.standard_normal(tuple(expected.shape), dtype=np.float32)
    found = [np.full_like(one, 7) for one in (x, weight, bias)]  # what lies there before must not matter
    card.run("aclnnConvolutionBackward", grad, x, weight, [24], *options, [True] * 3, CUBE, *found)
    expected.backward(torch.tensor(grad))
    for one, leaf in zip(found, leaves, strict=True):
        assert _close(one, leaf.grad, 1e-4)


def test_products_of_matrices_that_lie_transposed(card: Library, rng: Any, blas: None) -> None:
    x, y = rng.standard_normal((3, 90, 40), dtype=np.float32), rng.standard_normal((3, 90, 70), dtype=np.float32)
    left, right = x.transpose(0, 2, 1), y
    out = card.run("aclnnMatmul", left, right, np.zeros((3, 40, 70), "float32"), CUBE)
    assert np.allclose(out, left @ right, atol=1e-3)
    turned = card.run("aclnnMatmul", y.transpose(0, 2, 1), x, np.zeros((3, 70, 40), "float32"), CUBE)
    assert np.allclose(turned, y.transpose(0, 2, 1) @ x, atol=1e-3)


def test_batch_norm_of_a_large_batch(card: Library, rng: Any) -> None:
    x = (rng.standard_normal((6, 12, 80, 81)) * 3 + 5).astype("float32")
    weight, bias = rng.standard_normal((2, 12)).astype("float32")
    mean, variance = np.zeros(12, "float32"), np.ones(12, "float32")
    leaves = [torch.tensor(one, requires_grad=True) for one in (x, weight, bias)]
    running = torch.zeros(12), torch.ones(12)
    expected = torch.nn.functional.batch_norm(leaves[0], *running, *leaves[1:], training=True, momentum=0.1, eps=1e-5)
    saved = np.zeros(12, "float32"), np.zeros(12, "float32")
    out = np.zeros_like(x)
    card.run("aclnnBatchNorm", x, weight, bias, mean, variance, True, c_double(0.1), c_double(1e-5), out, *saved)
    assert _close(out, expected)
    assert _close(mean, running[0])
    assert _close(variance, running[1])
    grad = rng.standard_normal(x.shape, dtype=np.float32)
    found = [np.zeros_like(one) for one in (x, weight, bias)]
    card.run(
        "aclnnBatchNormBackward", grad, x, weight, mean, variance, *saved, True, c_double(1e-5), [True] * 3, *found
    )
    expected.backward(torch.tensor(grad))
    for one, leaf in zip(found, leaves, strict=True):
        assert _close(one, leaf.grad, 1e-4)


def test_a_long_row_may_be_written_in_place(card: Library, rng: Any) -> None:
    x, y = rng.standard_normal((2, 600_001), dtype=np.float32)
    expected = np.maximum(x, 0) * y
    card.run("aclnnInplaceRelu", x)
    card.run("aclnnInplaceMul", x, y)
    assert np.array_equal(x, expected)
