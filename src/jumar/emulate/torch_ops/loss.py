"""Losses under NPU names and gradients that torch_npu keeps apart: cross entropy, KL, L1, transforms."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from jumar.emulate.torch_ops.formula import gradients, wide
from jumar.emulate.torch_ops.registry import not_emulated, operator

_REDUCTIONS = ("none", "mean", "sum")


@operator()
def npu_cross_entropy_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    lse_square_scale_for_zloss: float = 0.0,
    return_zloss: bool = False,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    if return_zloss or lse_square_scale_for_zloss:
        raise not_emulated("npu_cross_entropy_loss", "with z-loss")
    log_prob = torch.log_softmax(wide(input), -1)
    loss = _from_log_prob(log_prob, target, weight, reduction, ignore_index, label_smoothing)
    lse = torch.logsumexp(wide(input), -1)
    zloss = torch.empty(0)
    return loss.to(input.dtype), log_prob.to(input.dtype), zloss.to(input.dtype), lse.to(input.dtype)


def _from_log_prob(
    log_prob: Tensor, target: Tensor, weight: Tensor | None, reduction: str, ignore: int, smoothing: float
) -> Tensor:
    weights = None if weight is None else weight.to(log_prob.dtype)
    # cross_entropy takes the softmax again, which leaves logarithms of probabilities as they are.
    return F.cross_entropy(
        log_prob, target.long(), weights, ignore_index=ignore, reduction=reduction, label_smoothing=smoothing
    )


@operator()
def npu_cross_entropy_loss_backward(
    grad_loss: Tensor,
    log_prob: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    grad_zloss: Tensor | None = None,
    lse_for_zloss: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    lse_square_scale_for_zloss: float = 0.0,
) -> Tensor:
    def formula(x: Tensor) -> Tensor:
        return _from_log_prob(torch.log_softmax(x, -1), target, weight, reduction, ignore_index, label_smoothing)

    # Logits and their log-softmax differ by a constant per row: the same gradient.
    return gradients(formula, [log_prob], grad_loss)[0]


@operator()
def npu_softmax_cross_entropy_with_logits(input: Tensor, labels: Tensor) -> Tensor:
    return -(wide(labels) * torch.log_softmax(wide(input), -1)).sum(-1).to(input.dtype)


@operator()
def npu_softmax_cross_entropy_with_logits_backward(grad: Tensor, input: Tensor, labels: Tensor) -> Tensor:
    def formula(x: Tensor) -> Tensor:
        return -(wide(labels) * torch.log_softmax(x, -1)).sum(-1)

    return gradients(formula, [input], grad)[0]


@operator()
def npu_binary_cross_entropy_with_logits_backward(
    grad_output: Tensor,
    input: Tensor,
    target: Tensor,
    weight_opt: Tensor | None,
    pos_weight_opt: Tensor | None,
    reduction: int,
) -> Tensor:
    def formula(x: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(
            x, wide(target), weight_opt, pos_weight=pos_weight_opt, reduction=_REDUCTIONS[reduction]
        )

    return gradients(formula, [input], grad_output)[0]


@operator()
def kl_div_backward(
    grad_output: Tensor, input: Tensor, target: Tensor, reduction: int = 1, *, log_target: bool = False
) -> Tensor:
    return _kl_gradients(grad_output, input, target, reduction, log_target)[0]


@operator()
def kl_div_target_backward(
    grad_output: Tensor, input: Tensor, target: Tensor, reduction: int = 1, *, log_target: bool = False
) -> Tensor:
    return _kl_gradients(grad_output, input, target, reduction, log_target)[1]


def _kl_gradients(grad: Tensor, input: Tensor, target: Tensor, reduction: int, log_target: bool) -> list[Tensor | None]:
    def formula(x: Tensor, t: Tensor) -> Tensor:
        y = t.exp() * (t - x) if log_target else torch.special.xlogy(t, t) - t * x
        return y if reduction == 0 else y.mean() if reduction == 1 else y.sum()

    return gradients(formula, [input, target], grad)


@operator()
def l1_loss_backward(grad_output: Tensor, input: Tensor, target: Tensor, reduction: int) -> Tensor:
    def formula(x: Tensor) -> Tensor:
        return F.l1_loss(x, wide(target), reduction=_REDUCTIONS[reduction])

    return gradients(formula, [input], grad_output)[0]


@operator()
def npu_renorm_backward(grad: Tensor, input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    return gradients(lambda x: torch.renorm(x, p, dim, maxnorm), [input], grad)[0]


@operator()
def fft_r2c_backward(grad: Tensor, dim: list[int], normalization: int, onesided: bool, last_dim_size: int) -> Tensor:
    if not onesided:
        return torch.ops.aten._fft_c2c(grad, dim, normalization, False).real
    # The missing half of the spectrum had no part in the result: zeros, then the full transform.
    half = torch.zeros(*grad.shape, dtype=grad.dtype)
    half.copy_(grad)
    extra = last_dim_size - grad.shape[dim[-1]]
    shape = list(grad.shape)
    shape[dim[-1]] = extra
    whole = torch.cat([half, grad.new_zeros(shape)], dim[-1])
    return torch.ops.aten._fft_c2c(whole, dim, normalization, False).real


@operator()
def fft_c2r_backward(grad: Tensor, dim: list[int], normalization: int) -> Tensor:
    spectrum = torch.ops.aten._fft_r2c(grad, dim, normalization, True)
    doubled = grad.shape[dim[-1]] - spectrum.shape[dim[-1]]
    if doubled > 0:
        spectrum.narrow(dim[-1], 1, doubled).mul_(2)
    return spectrum
