"""Loss scaling of mixed precision: torch before 2.3 has no CPU kernel for its two operators."""

from __future__ import annotations

import torch
from torch import Tensor

from jumar.emulate.torch_ops.registry import operator


@operator("aten::_amp_foreach_non_finite_check_and_unscale_")
def unscale(gradients: list[Tensor], found_inf: Tensor, inv_scale: Tensor) -> None:
    """In place; `found_inf` becomes 1 where a gradient is not finite."""
    for gradient in gradients:
        if not torch.isfinite(gradient).all():
            found_inf.fill_(1.0)
        gradient.mul_(inv_scale)


@operator("aten::_amp_update_scale_")
def update_scale(
    scale: Tensor, tracker: Tensor, found_inf: Tensor, growth: float, backoff: float, interval: int
) -> Tensor:
    """Smaller after an overflow, larger after `interval` steps without one."""
    if found_inf.item():
        tracker.fill_(0)
        return scale.mul_(backoff)
    tracker.add_(1)
    if tracker.item() == interval:
        grown = scale * growth
        scale.copy_(torch.where(torch.isfinite(grown), grown, scale))
        tracker.fill_(0)
    return scale
