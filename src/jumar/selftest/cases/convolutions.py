"""Convolutions with their gradients, pooling and resizing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jumar.selftest.case import FLOAT, rows

if TYPE_CHECKING:
    from jumar.selftest.given import Given

HALF = ("float32", "float16")


def _gradients(g: Given) -> Any:
    x, weight, bias = g.learnt(2, 8, 12, 12), g.learnt(16, 8, 3, 3, scale=0.2), g.learnt(16)
    out = g.torch.nn.functional.conv2d(x, weight, bias, padding=1)
    out.backward(g.normal(2, 16, 12, 12))
    return {"out": out, "x": x.grad, "weight": weight.grad, "bias": bias.grad}


def _transposed(g: Given) -> Any:
    x, weight = g.learnt(2, 8, 9, 9), g.learnt(8, 6, 3, 3, scale=0.2)
    out = g.torch.nn.functional.conv_transpose2d(x, weight, stride=2)
    out.backward(g.normal(*out.shape))
    return {"out": out, "x": x.grad, "weight": weight.grad}


def _averaged(g: Given) -> Any:
    x = g.learnt(2, 3, 12, 12)
    g.torch.nn.functional.avg_pool2d(x, 3, 2).backward(g.normal(2, 3, 5, 5))
    return x.grad


def _resized(g: Given) -> Any:
    x = g.learnt(1, 3, 8, 8)
    g.torch.nn.functional.interpolate(x, scale_factor=2, mode="bilinear").backward(g.normal(1, 3, 16, 16))
    return x.grad


def _pool_gradient(g: Given) -> Any:
    x = g.learnt(2, 3, 12, 12)
    out = g.torch.nn.functional.max_pool2d(x, 2)
    out.backward(g.normal(2, 3, 6, 6))
    return {"out": out, "x": x.grad}


CASES = [
    *rows(
        {
            "conv1d": lambda g: g.torch.nn.functional.conv1d(g.normal(2, 8, 50), g.normal(12, 8, 5, scale=0.2)),
            "conv2d": lambda g: g.torch.nn.functional.conv2d(
                g.normal(2, 8, 14, 14), g.normal(12, 8, 3, 3, scale=0.2), g.normal(12), padding=1
            ),
            "conv2d-strided": lambda g: g.torch.nn.functional.conv2d(
                g.normal(2, 8, 15, 15), g.normal(12, 8, 3, 3, scale=0.2), stride=2
            ),
            "conv2d-dilated": lambda g: g.torch.nn.functional.conv2d(
                g.normal(2, 8, 15, 15), g.normal(12, 8, 3, 3, scale=0.2), dilation=2
            ),
            "conv2d-grouped": lambda g: g.torch.nn.functional.conv2d(
                g.normal(2, 8, 14, 14), g.normal(8, 1, 3, 3, scale=0.3), groups=8
            ),
            "conv2d-pointwise": lambda g: g.torch.nn.functional.conv2d(
                g.normal(2, 8, 14, 14), g.normal(12, 8, 1, 1, scale=0.3)
            ),
            "conv-transpose2d": lambda g: g.torch.nn.functional.conv_transpose2d(
                g.normal(2, 8, 9, 9), g.normal(8, 6, 3, 3, scale=0.2), stride=2
            ),
            "conv2d-gradients": _gradients,
            "conv3d": lambda g: g.torch.nn.functional.conv3d(
                g.normal(1, 4, 6, 8, 8), g.normal(5, 4, 3, 3, 3, scale=0.2)
            ),
            "conv-transpose2d-gradients": _transposed,
            "avg-pool2d-gradient": _averaged,
            "bilinear-gradient": _resized,
            "avg-pool2d": lambda g: g.torch.nn.functional.avg_pool2d(g.normal(2, 3, 12, 12), 3, 2),
            "adaptive-avg-pool2d": lambda g: g.torch.nn.functional.adaptive_avg_pool2d(g.normal(2, 3, 12, 12), 1),
            "bilinear": lambda g: g.torch.nn.functional.interpolate(
                g.normal(1, 3, 8, 8), scale_factor=2, mode="bilinear"
            ),
        },
        types=HALF,
    ),
    *rows(
        {
            "max-pool2d": lambda g: g.torch.nn.functional.max_pool2d(g.normal(2, 3, 12, 12), 3, 2, 1),
            "pixel-shuffle": lambda g: g.torch.nn.functional.pixel_shuffle(g.normal(2, 8, 5, 5), 2),
            "reflected": lambda g: g.torch.nn.functional.pad(g.normal(2, 3, 6, 6), (1, 2, 2, 1), mode="reflect"),
            "nearest": lambda g: g.torch.nn.functional.interpolate(g.normal(1, 3, 8, 8), scale_factor=2),
            "max-pool2d-gradient": _pool_gradient,
        },
        types=FLOAT,
        exact=True,
    ),
]
