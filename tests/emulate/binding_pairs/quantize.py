"""Quantisation: dynamic by rows, static, and packed scales."""

from __future__ import annotations

import torch

from . import Results, Side, drawn, pair


@pair("npu_dynamic_quant", "aclnnDynamicQuant")
def dynamic(torch_side: Side, mindspore_side: Side) -> Results:
    x = drawn(3, 4, 8)
    x[1, 2] = 0
    for name, smooth in (("plain", None), ("smoothed", drawn(8).abs())):
        yield name, torch_side(x, smooth_scales=smooth), mindspore_side(x=x, smooth=smooth)


@pair("npu_quantize", "aclnnAscendQuant")
def static(torch_side: Side, mindspore_side: Side) -> Results:
    x = 20 * drawn(3, 8)
    for name, scale in (("one scale", torch.tensor([3.0])), ("a scale for each column", drawn(8).abs() * 4)):
        for offset in (None, torch.full(scale.shape, 5.0)):
            mode = {"root": False, "how": "round", "type_": 2}
            results = torch_side(x, scale, offset, torch.qint8, -1, False)
            yield (
                f"{name}, offset {offset is not None}",
                results,
                mindspore_side(x=x, scale=scale, offset=offset, **mode),
            )


@pair("npu_quantize", "AscendQuant")
def static_by_type(torch_side: Side, mindspore_side: Side) -> Results:
    x = 20 * drawn(3, 8)
    for offset in (0.0, 5.0):
        results = torch_side(x, torch.tensor([3.0]), torch.tensor([offset]), torch.qint8, -1, False)
        room = {"outputs": [x.shape], "output_type": 2}
        yield f"offset {offset}", results, mindspore_side(x=x, scale=3.0, offset=offset, **room)


@pair("npu_trans_quant_param", "aclnnTransQuantParamV2")
def packed_scale(torch_side: Side, mindspore_side: Side) -> Results:
    scale = drawn(6)
    for name, offset in (("alone", None), ("with an offset", 200 * drawn(6, seed=2))):
        yield name, torch_side(scale, offset), mindspore_side(scale=scale, offset=offset)
