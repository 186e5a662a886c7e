"""Carries out a static `aipp_op` in numpy: swap, crop, colour, mean and scale, padding, in the vendor's order.

hicann/ge docs/zh/user_guides/atc_tools/AIPP: config_file_template.md, CSC_config.md, normalization_config.md (2026-11).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jumar.core.errors import UserError
from jumar.export.aipp import AippStep
from jumar.export.shapes import Shape
from jumar.tables import atc


def source_shape(step: AippStep, shape: Sequence[int]) -> tuple[int, ...]:
    """What the caller has to give instead of the model's NCHW input: NHWC bytes, or the planes of YUV420SP."""
    batch, _, height, width = shape
    height, width = _size(step, height, width)
    form = str(step.values["input_format"])
    if form == "YUV420SP_U8":
        return (batch, height * 3 // 2, width, 1) if height > 0 else (batch, -1, width, 1)
    return batch, height, width, atc.options()["aipp"]["formats"][form][0]


def prepared(step: AippStep, value: Any, shape: Shape) -> Any:
    """The float32 NCHW input of the model, made from the image bytes that the caller gave."""
    import numpy

    numbers = [dim if isinstance(dim, int) else dim.low for dim in shape]
    if str(value.dtype) != "uint8":
        raise UserError(f"an input with AIPP takes uint8, {value.dtype} was given")
    batch = value.shape[0] if value.ndim == 4 else 1
    if numbers[0] > 0:
        batch = numbers[0]
    height, width = _size(step, numbers[2], numbers[3])
    if height < 0 or width < 0:
        height, width = _guess(step, value)
    pixels = _pixels(step, value.reshape(-1), batch, height, width)
    if step.on("crop"):
        top, left = int(step.number("load_start_pos_h")), int(step.number("load_start_pos_w"))
        rows, columns = int(step.number("crop_size_h")) or numbers[2], int(step.number("crop_size_w")) or numbers[3]
        pixels = pixels[:, top : top + rows, left : left + columns]
    if step.on("csc_switch"):
        pixels = _colours(step, pixels)
    out = pixels.astype(numpy.float32)
    channels = out.shape[-1]
    keys = [str(number) for number in range(channels)]
    mean = numpy.array([step.number(f"mean_chn_{key}") + step.number(f"min_chn_{key}") for key in keys], "float32")
    scale = numpy.array([step.number(f"var_reci_chn_{key}", 1.0) for key in keys], "float32")
    out = (out - mean) * scale.astype(numpy.float16).astype(numpy.float32)
    if step.on("padding"):
        sides = [int(step.number(f"{side}_padding_size")) for side in ("top", "bottom", "left", "right")]
        pads = ((0, 0), (sides[0], sides[1]), (sides[2], sides[3]), (0, 0))
        out = numpy.pad(out, pads, constant_values=step.number("padding_value"))
    out = out.transpose(0, 3, 1, 2)
    if numbers[1] > 0 and out.shape[1] != numbers[1]:
        if out.shape[1] < numbers[1]:
            raise UserError(f"AIPP gives {out.shape[1]} channels, the model takes {numbers[1]}")
        out = out[:, : numbers[1]]
    return numpy.ascontiguousarray(out)


def _size(step: AippStep, height: int, width: int) -> tuple[int, int]:
    return int(step.number("src_image_size_h")) or height, int(step.number("src_image_size_w")) or width


def _guess(step: AippStep, value: Any) -> tuple[int, int]:
    if value.ndim != 4:
        raise UserError("an image of changing size must come with its four axes, as NHWC")
    rows, columns = value.shape[1], value.shape[2]
    return (rows * 2 // 3 if step.values["input_format"] == "YUV420SP_U8" else rows), columns


def _pixels(step: AippStep, data: Any, batch: int, height: int, width: int) -> Any:
    """Bytes as NHWC pixels, channels in the order that the switches ask for."""
    import numpy

    form = str(step.values["input_format"])
    channels, per_pixel = atc.options()["aipp"]["formats"][form]
    wanted = int(batch * height * width * per_pixel)
    if data.size != wanted:
        raise UserError(f"{form} of {width}x{height} has {wanted} bytes, {data.size} were given")
    swap = step.on("rbuv_swap_switch")
    if form == "YUV420SP_U8":
        planes = data.reshape(batch, height * 3 // 2, width)
        luma = planes[:, :height]
        pairs = planes[:, height:].reshape(batch, height // 2, width // 2, 2)
        if swap:
            pairs = pairs[..., ::-1]
        chroma = pairs.repeat(2, axis=1).repeat(2, axis=2)
        return numpy.concatenate([luma[..., None], chroma], axis=-1)
    pixels = data.reshape(batch, height, width, channels)
    if form == "XRGB8888_U8":
        if step.on("ax_swap_switch"):
            pixels = pixels[..., [1, 2, 3, 0]]
        return pixels[..., [2, 1, 0]] if swap else pixels[..., :3]
    return pixels[..., ::-1] if swap and channels == 3 else pixels


def _colours(step: AippStep, pixels: Any) -> Any:
    import numpy

    if pixels.shape[-1] != 3:
        return pixels
    defaults = atc.options()["aipp"]["defaults"]
    matrix = numpy.array(
        [
            step.number(f"matrix_r{row}c{column}", defaults["matrix"][3 * row + column])
            for row in range(3)
            for column in range(3)
        ],
        dtype=numpy.int64,
    ).reshape(3, 3)
    is_yuv = step.values["input_format"] == "YUV420SP_U8"
    kind = "input_bias" if is_yuv else "output_bias"
    bias = numpy.array(
        [step.number(f"{kind}_{number}", defaults[kind][number]) for number in range(3)], dtype=numpy.int64
    )
    values = pixels.astype(numpy.int64)
    if is_yuv:
        values = ((values - bias) @ matrix.T) >> 8
    else:
        values = ((values @ matrix.T) >> 8) + bias
    return numpy.clip(values, 0, 255)
