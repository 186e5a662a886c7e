"""Cross entropy over a vocabulary that is split between cards, fused with the last matrix product.

Ascend/op-plugin docs/zh/custom_APIs/torch_npu/torch_npu-npu_fused_linear_online_max_sum.md, the two operators that
belong to it, and Megatron's fused_vocab_parallel_cross_entropy, whose parts they are. The cards exchange maxima and
sums between the calls.
"""

from __future__ import annotations

import torch
from torch import Tensor

from jumar.emulate.torch_ops.formula import wide
from jumar.emulate.torch_ops.registry import not_emulated, operator

_BITS = (128, 64, 32, 16, 8, 4, 2, 1)  # the first row is the highest bit


@operator()
def npu_fused_linear_online_max_sum(
    input: Tensor,
    weight: Tensor,
    target: Tensor,
    vocab_start_index: int,
    vocab_end_index: int,
    return_logits: bool = False,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor | None]:
    logits = wide(input) @ wide(weight).t()
    top = logits.amax(-1)
    below = logits - top.unsqueeze(-1)
    elsewhere = (target < vocab_start_index) | (target > vocab_end_index)
    place = torch.where(elsewhere, 0, target - vocab_start_index).to(target.dtype)
    predicted = below.gather(-1, place.long().unsqueeze(-1)).squeeze(-1).masked_fill(elsewhere, 0)
    sums = below.exp().sum(-1)
    return top, sums, predicted, _packed(elsewhere), place, logits.to(input.dtype) if return_logits else None


@operator()
def npu_fused_cross_entropy_loss_with_max_sum(
    logits_max: Tensor,
    sum_exp_logits: Tensor,
    predicted_logits: Tensor,
    *,
    label_smoothing: float | None = 0.0,
    input: Tensor | None = None,
    weight: Tensor | None = None,
    vocab_parallel_logits: Tensor | None = None,
) -> tuple[Tensor, Tensor | None]:
    if label_smoothing or input is not None or weight is not None:
        raise not_emulated("npu_fused_cross_entropy_loss_with_max_sum", "with `label_smoothing`, `input` or `weight`")
    loss = sum_exp_logits.log() - predicted_logits
    if vocab_parallel_logits is None:
        return loss, None
    return loss, _softmax(wide(vocab_parallel_logits), logits_max, sum_exp_logits)


@operator()
def npu_fused_linear_cross_entropy_loss_with_max_sum_backward(
    grad: Tensor,
    input: Tensor,
    weight: Tensor,
    target_mask: Tensor,
    masked_target: Tensor,
    label_smoothing: float = 0.0,
    logits_max: Tensor | None = None,
    sum_exp_logits: Tensor | None = None,
    softmax: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    if label_smoothing:
        raise not_emulated("npu_fused_linear_cross_entropy_loss_with_max_sum_backward", "with `label_smoothing`")
    if softmax is not None:
        slope = wide(softmax).clone()
    elif logits_max is not None and sum_exp_logits is not None:
        slope = _softmax(wide(input) @ wide(weight).t(), logits_max, sum_exp_logits)
    else:
        raise RuntimeError("either softmax or both logits_max and sum_exp_logits must be given")
    here = 1.0 - _unpacked(target_mask, len(grad)).float()
    slope[torch.arange(len(grad)), masked_target.long()] -= here
    slope = slope * grad.unsqueeze(-1)
    return (slope @ wide(weight)).to(input.dtype), (slope.t() @ wide(input)).to(weight.dtype)


def _softmax(logits: Tensor, top: Tensor, sums: Tensor) -> Tensor:
    return (logits - top.unsqueeze(-1)).exp() / sums.unsqueeze(-1)


def _packed(mask: Tensor) -> Tensor:
    bits = torch.ones((len(mask) + 7) // 8 * 8, dtype=torch.uint8)
    bits[: len(mask)] = mask.to(torch.uint8)
    return (bits.view(-1, 8) * torch.tensor(_BITS, dtype=torch.uint8)).sum(-1).to(torch.uint8)


def _unpacked(packed: Tensor, count: int) -> Tensor:
    return (packed.unsqueeze(-1) & torch.tensor(_BITS, dtype=torch.uint8)).ne(0).flatten()[:count]
