"""torchvision's wheel beside a CPU build of torch: its compiled part is linked with CUDA and does not load.

Without it `import torchvision` ends at an operator that is not declared. The operators that models need are given here
for the CPU; on a card torch_npu falls back to them, as it does with torchvision's own.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from jumar.runtime import variables

_SCHEMAS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h,"
    " SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups,"
    " SymInt offset_groups, bool use_mask) -> Tensor",
    "roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width,"
    " int sampling_ratio, bool aligned) -> Tensor",
    "roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width)"
    " -> (Tensor, Tensor)",
    "ps_roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width,"
    " int sampling_ratio) -> (Tensor, Tensor)",
    "ps_roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width)"
    " -> (Tensor, Tensor)",
)
"""Those without an implementation below are refused by torch under their own name."""
_KEPT: list[Any] = []


def after(module: ModuleType) -> None:
    """Called with torchvision's modules as they are imported."""
    if variables.EMULATE.text() == "0":
        return
    if module.__name__ == "torchvision.extension":
        if not module._has_ops():
            _declare(module)
    elif _KEPT:
        # Its own formula in Python, without the compilation at the first call.
        module._roi_align = module._roi_align.__wrapped__  # type: ignore[attr-defined]
        _KEPT[0].impl("roi_align", module._roi_align, "CompositeImplicitAutograd")


def _declare(extension: ModuleType) -> None:
    import torch

    library = torch.library.Library("torchvision", "FRAGMENT")
    for schema in _SCHEMAS:
        library.define(schema)
    library.impl("nms", nms, "CPU")
    library.impl("deform_conv2d", deform_conv2d, "CompositeImplicitAutograd")
    extension._assert_has_ops = lambda: None  # type: ignore[attr-defined]
    _KEPT.append(library)


def nms(dets: Any, scores: Any, iou_threshold: float) -> Any:
    """The boxes to keep, best first: a box goes where a better one covers more than the threshold of both."""
    import torch

    order = scores.argsort(descending=True, stable=True)
    boxes = dets[order]
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    alive = torch.ones(len(order), dtype=torch.bool)
    for i in range(len(order)):
        if not alive[i]:
            continue
        rest = boxes[i + 1 :]
        low, high = torch.maximum(rest[:, :2], boxes[i, :2]), torch.minimum(rest[:, 2:], boxes[i, 2:])
        inner = (high - low).clamp(min=0).prod(1)
        alive[i + 1 :] &= ~(inner / (areas[i] + areas[i + 1 :] - inner) > iou_threshold)
    return order[alive]


def deform_conv2d(
    input: Any, weight: Any, offset: Any, mask: Any, bias: Any, stride_h: int, stride_w: int, pad_h: int, pad_w: int,
    dilation_h: int, dilation_w: int, groups: int, offset_groups: int, use_mask: bool,
) -> Any:  # fmt: skip
    """As torch_npu's own operator, whose offsets are laid out by axis and not in pairs."""
    import torch
    from torch.nn import functional as F

    from jumar.emulate.torch_ops import deformable

    kernel = tuple(weight.shape[2:])
    pairs = offset.unflatten(1, (offset_groups, kernel[0] * kernel[1], 2))
    parts = [pairs[:, :, :, 1], pairs[:, :, :, 0]]
    if use_mask:
        parts.append(mask.unflatten(1, (offset_groups, kernel[0] * kernel[1])))
    places = torch.cat([part.flatten(1, 2) for part in parts], 1)
    pads, steps = [pad_h, pad_h, pad_w, pad_w], [1, 1, stride_h, stride_w]
    read = deformable.read_taps(
        input, places, kernel, steps, pads, [1, 1, dilation_h, dilation_w], offset_groups, use_mask
    )
    return F.conv2d(read, weight, bias, stride=kernel, groups=groups)
