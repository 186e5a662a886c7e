"""Fused optimizer steps: Adam, AdamW, and BERT's Adam, written into the three tensors given as `out`."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from jumar.emulate.formulas.optimizer import Decays, adam_w, bert_adam
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
    # The powers given are those of the step before.
    power = Decays(beta1_power * beta1, beta2_power * beta2)
    new = adam_w(
        var, m, v, max_grad_norm if amsgrad else None, grad, rate=lr, beta=Decays(beta1, beta2), power=power,
        decay=weight_decay, epsilon=epsilon, maximize=bool(maximize),
    )  # fmt: skip
    if amsgrad and max_grad_norm is not None:
        max_grad_norm.copy_(new[3])
    return _written(out, new)


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
    # The mBART form has a rate of its own for the step.
    own = None if adam_mode == 0 else lr if step_size is None else step_size
    new = bert_adam(
        var, m, v, grad, rate=lr, beta=Decays(beta1, beta2), decay=weight_decay, epsilon=epsilon, step_size=own
    )
    return _written(out, new)


def _written(out: list[Tensor], new: Iterable[Tensor]) -> _State:
    var, m, v = (target.copy_(value) for target, value in zip(out, new))
    return var, m, v
