"""Resizing, folding and diagonals."""

from __future__ import annotations

from typing import Any

import numpy as np

from .registry import NotEmulated, operator
from .resize import cubic, linear

_PARTS = 1024  # a place between two pixels is rounded to one of them, as the device's processor does


def _cubic(size: int, out: int, corners: bool, half: bool) -> Any:
    """The weights of MindSpore's own kernel: sharper at half pixels, where what is outside does not count."""
    step = (size - 1) / (out - 1) if corners and out > 1 else size / out
    place = ((np.arange(out) + 0.5) * step - 0.5 if half else np.arange(out) * step).astype(np.float32)
    low = np.floor(place).astype(np.int64)
    part = np.rint((place - low) * _PARTS) / _PARTS
    a = -0.5 if half else -0.75
    eye, matrix = np.eye(size), np.zeros((out, size))
    for shift in range(-1, 3):
        t = np.abs(part - shift)
        near = ((a + 2) * t - (a + 3)) * t * t + 1
        far = ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
        at = np.clip(low + shift, 0, size - 1)
        weight = np.where(t <= 1, near, far) * ((at == low + shift) | (not half))
        matrix += weight[:, None] * eye[at]
    return matrix / matrix.sum(1, keepdims=True) if half else matrix


def _resized(x: Any, matrices: Any) -> Any:
    """The last axes, each by its matrix."""
    for axis, matrix in enumerate(matrices, x.ndim - len(matrices)):
        x = np.moveaxis(np.tensordot(matrix, x, (1, axis)), 0, axis)
    return x


@operator("ResizeBicubic")
def bicubic(images: Any, *, align_corners: bool = False, half_pixel_centers: bool = False, outputs: Any) -> Any:
    x = images.astype(np.float64)
    options = bool(align_corners), bool(half_pixel_centers)
    return _resized(x, [_cubic(x.shape[at], outputs[0].shape[at], *options) for at in (-2, -1)])


@operator("ResizeBicubicGrad")
def bicubic_backward(grads: Any, *, align_corners: bool = False, half_pixel_centers: bool = False, outputs: Any) -> Any:
    grad, shape = grads.astype(np.float64), outputs[0].shape
    options = bool(align_corners), bool(half_pixel_centers)
    return _resized(grad, [_cubic(shape[at], grad.shape[at], *options).T for at in (-2, -1)])


def _matrices(attributes: Any, sizes: Any, results: Any) -> Any:
    """For the axes behind batch and channel."""
    how = str(attributes.get("mode", "nearest"))
    if how not in ("linear", "cubic"):
        raise NotEmulated(f"ResizeD with mode {how} is not emulated")
    corners = attributes.get("coordinate_transformation_mode") == "align_corners"
    along = linear if how == "linear" else cubic
    return [along(size, result, corners, 0.0) for size, result in zip(sizes[2:], results[2:])]


@operator("ResizeD")
def resize(inputs: Any, attributes: Any, outputs: Any) -> Any:
    return _resized(inputs[0], _matrices(attributes, inputs[0].shape, outputs[0].shape))


@operator("ResizeGradD")
def resize_backward(inputs: Any, attributes: Any, outputs: Any) -> Any:
    return _resized(inputs[0], [one.T for one in _matrices(attributes, outputs[0].shape, inputs[0].shape)])


@operator("Col2im")
def fold(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """Windows side by side back into images: what overlaps is added."""
    kernel, step, dilation, pads = (
        _pair(attributes[name]) for name in ("kernel_size", "stride", "dilation", "padding")
    )
    batch, channels, *size = outputs[0].shape
    padded = np.zeros((batch, channels, *(n + 2 * p for n, p in zip(size, pads))), np.float64)
    count = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, p, d, k, s in zip(size, pads, dilation, kernel, step)]
    parts = inputs[0].reshape(batch, channels, *kernel, *count)
    for row, column in np.ndindex(*kernel):
        rows = slice(row * dilation[0], row * dilation[0] + count[0] * step[0], step[0])
        columns = slice(column * dilation[1], column * dilation[1] + count[1] * step[1], step[1])
        padded[:, :, rows, columns] += parts[:, :, row, column]
    return padded[:, :, pads[0] : pads[0] + size[0], pads[1] : pads[1] + size[1]]


def _pair(value: Any) -> list[int]:
    found = [int(v) for v in np.reshape(value, -1)]
    return found * 2 if len(found) == 1 else found


@operator("Shape")
def shape(x: Any) -> Any:
    return np.array(x.shape, np.int64)


@operator("MatrixDiagD")
def diagonal(x: Any, ones: Any) -> Any:
    """The second input has ones on the diagonals of matrices, here and in what follows."""
    return x[..., None] * ones


@operator("MatrixDiagPartD")
def diagonal_part(x: Any, ones: Any) -> Any:
    count = min(x.shape[-2:])
    return (x * ones)[..., :count, :].sum(-1)


@operator("MatrixSetDiagD")
def set_diagonal(x: Any, values: Any, ones: Any) -> Any:
    filled = np.zeros(x.shape, values.dtype)
    at = np.arange(values.shape[-1])
    filled[..., at, at] = values
    return np.where(ones != 0, filled, x)


@operator("ResizeArea")
def shrink(images: Any, *, align_corners: bool = False, outputs: Any) -> Any:
    """Each pixel is the mean of the area that it covers in the picture, which may end inside of pixels."""
    x = images.astype(np.float32)
    for axis in (1, 2):
        weights = _shares(x.shape[axis], outputs[0].shape[axis], bool(align_corners))
        x = np.moveaxis(np.tensordot(weights, x, (1, axis)), 0, axis)
    return x


def _shares(size: int, count: int, corners: bool) -> Any:
    step = (size - 1) / (count - 1) if corners and count > 1 else size / count
    out = np.zeros((count, size))
    for row in range(count):
        first, end = row * step, (row + 1) * step
        for at in range(int(first), int(np.ceil(end))):
            out[row, min(at, size - 1)] += (min(at + 1, end) - max(at, first)) / step
    return out
