"""Fused optimizer steps: Adam, AdamW, and BERT's Adam, written into the three tensors given as `out`."""

from __future__ import annotations

import torch
from torch import Tensor

from jumar.emulate.torch_ops.registry import operator

_State = tuple[Tensor, Tensor, Tensor]


@operator("npu_apply_adam.out")
def npu_apply_adam(
    beta1_power: float,
    beta2_power: float,
    lr: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    grad: Tensor,
    use_locking: bool | None,
    use_nesterov: bool | None,
    *,
    out: list[Tensor],
) -> _State:
    var, m, v = out
    m.add_(grad - m, alpha=1 - beta1)
    v.add_(grad.square() - v, alpha=1 - beta2)
    # On the card a power of 1 divides by zero and goes on: the step is then not a number.
    rate = torch.tensor(lr * (1 - beta2_power) ** 0.5) / (1 - beta1_power)
    step = m * beta1 + grad * (1 - beta1) if use_nesterov else m
    var.sub_(rate * step / (v.sqrt() + epsilon))
    return var, m, v


@operator("npu_apply_adam_w.out")
def npu_apply_adam_w(
    beta1_power: float,
    beta2_power: float,
    lr: float,
    weight_decay: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    grad: Tensor,
    max_grad_norm: Tensor | None,
    amsgrad: bool | None,
    maximize: bool | None,
    *,
    out: list[Tensor],
) -> _State:
    if amsgrad and max_grad_norm is None:
        raise RuntimeError("if amsgrad is true, max_gard_norm input must be entered")
    var, m, v = out
    gradient = -grad if maximize else grad
    m.mul_(beta1).add_(gradient, alpha=1 - beta1)
    v.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
    # The powers given are those of the step before.
    power1, power2 = beta1_power * beta1, beta2_power * beta2
    largest = v
    if amsgrad and max_grad_norm is not None:
        largest = max_grad_norm.copy_(torch.maximum(max_grad_norm, v))
    var.mul_(1 - lr * weight_decay)
    var.sub_(lr / (1 - power1) * m / ((largest / (1 - power2)).sqrt() + epsilon))
    return var, m, v


@operator("npu_bert_apply_adam.out")
def npu_bert_apply_adam(
    lr: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    grad: Tensor,
    max_grad_norm: float,
    global_grad_norm: float,
    weight_decay: float,
    step_size: float | None = None,
    adam_mode: int = 0,
    *,
    out: list[Tensor],
) -> _State:
    """Without bias correction. The gradient is scaled down to max_grad_norm; the decay joins the update."""
    var, m, v = out
    if max_grad_norm != -1 and global_grad_norm > max_grad_norm:
        grad = grad * (max_grad_norm / global_grad_norm)
    m.mul_(beta1).add_(grad, alpha=1 - beta1)
    v.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
    update = m / (v.sqrt() + epsilon)
    if adam_mode == 0:
        var.sub_(lr * (update + weight_decay * var))
    else:
        # The mBART form: the rate of the step is given, the decay is its own.
        var.sub_((lr if step_size is None else step_size) * update + lr * weight_decay * var)
    return var, m, v
