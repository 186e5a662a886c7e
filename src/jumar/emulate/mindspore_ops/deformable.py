"""Samples of images at places that a network has moved (deformable convolution), by type."""

from __future__ import annotations

from typing import Any

import numpy as np

from .registry import NotEmulated, operator

_CORNERS = ((0, 0), (0, 1), (1, 0), (1, 1))


class _Samples:
    """Where an image is read, with which weights; all arrays are (batch, group, row of kernel, column, row, column)."""

    def __init__(self, x: Any, offsets: Any, attributes: Any) -> None:
        if not attributes.get("modulated", 1):
            raise NotEmulated("DeformableOffsets without a mask is not emulated")
        kernel, stride, dilation = (_last(attributes, name) for name in ("ksize", "strides", "dilations"))
        top, _, left, _ = (int(v) for v in attributes["pads"])
        self.groups = int(attributes.get("deformable_groups", 1))
        self.batch, self.channels, self.height, self.width = x.shape
        rows, columns = offsets.shape[2:]
        self.shape = (self.batch, self.groups, *kernel, rows, columns)
        across, down, self.mask = np.moveaxis(offsets.reshape(self.batch, 3, *self.shape[1:]), 1, 0)
        base_y = (np.arange(rows) * stride[0] - top)[None, :] + (np.arange(kernel[0]) * dilation[0])[:, None]
        base_x = (np.arange(columns) * stride[1] - left)[None, :] + (np.arange(kernel[1]) * dilation[1])[:, None]
        self.y = base_y[None, None, :, None, :, None] + down
        self.x = base_x[None, None, None, :, None, :] + across
        self.image = x.reshape(self.batch, self.groups, self.channels // self.groups, -1)

    def corners(self) -> Any:
        """The four pixels around each place: their index, 0 and 1 for what is outside and inside, and the weights."""
        low_y, low_x = np.floor(self.y).astype(np.int64), np.floor(self.x).astype(np.int64)
        part_y, part_x = self.y - low_y, self.x - low_x
        for down, across in _CORNERS:
            row, column = low_y + down, low_x + across
            inside = (row >= 0) & (row < self.height) & (column >= 0) & (column < self.width)
            index = np.clip(row, 0, self.height - 1) * self.width + np.clip(column, 0, self.width - 1)
            yield index, inside, part_y if down else 1 - part_y, part_x if across else 1 - part_x, down, across

    def pixels(self, index: Any) -> Any:
        """(batch, group, channel, places)"""
        return np.take_along_axis(self.image, index.reshape(self.batch, self.groups, 1, -1), -1)

    def flat(self, x: Any) -> Any:
        return x.reshape(self.batch, self.groups, 1, -1)

    def to_image(self, x: Any) -> Any:
        """Kernels side by side: (batch, channel, row · row of kernel, column · column of kernel)."""
        _, _, high, wide, rows, columns = self.shape
        parts = x.reshape(self.batch, self.channels, high, wide, rows, columns)
        return parts.transpose(0, 1, 4, 2, 5, 3).reshape(self.batch, self.channels, rows * high, columns * wide)

    def from_image(self, x: Any) -> Any:
        _, _, high, wide, rows, columns = self.shape
        parts = x.reshape(self.batch, self.channels, rows, high, columns, wide).transpose(0, 1, 3, 5, 2, 4)
        return parts.reshape(self.batch, self.groups, self.channels // self.groups, -1)


def _last(attributes: Any, name: str) -> list[int]:
    return [int(v) for v in attributes[name]][-2:]


@operator("DeformableOffsets")
def sample(inputs: Any, attributes: Any, outputs: Any) -> Any:
    at = _Samples(inputs[0], inputs[1], attributes)
    total: Any = 0
    for index, inside, tall, broad, _down, _across in at.corners():
        total = total + at.pixels(index) * at.flat(inside * tall * broad)
    return at.to_image(total * at.flat(at.mask))


@operator("DeformableOffsetsGrad")
def sample_backward(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """Gradients for the image and for what moved the places, mask included."""
    grad, x, offsets = inputs[:3]
    at = _Samples(x, offsets, attributes)
    slopes = at.from_image(grad)
    to_image = np.zeros(at.image.shape, np.float64)
    rows, groups, channels = np.ogrid[: at.batch, : at.groups, : to_image.shape[2]]
    to_x, to_y, to_mask = (np.zeros(at.shape) for _ in range(3))
    for index, inside, tall, broad, down, across in at.corners():
        weight = at.flat(inside * tall * broad)
        value = (at.pixels(index) * slopes).sum(2).reshape(at.shape) * inside
        to_mask += value * tall * broad
        to_y += value * broad * at.mask * (1 if down else -1)
        to_x += value * tall * at.mask * (1 if across else -1)
        place = (rows[..., None], groups[..., None], channels[..., None], at.flat(index))
        np.add.at(to_image, place, slopes * weight * at.flat(at.mask))
    moved = np.stack([to_x, to_y, to_mask], 1)
    return to_image.reshape(x.shape), moved.reshape(offsets.shape)
