"""What an optimizer is given and what it leaves: its settings, gradients before it, weights and state after it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.optim.optimizer import Optimizer

from jumar.compare.facts import SIMPLE
from jumar.compare.recorder import Recorder

_MOST_STATE = 400
"""Optimizer tensors that are looked at after the first step; with more, and later, only the weights are."""


def norm(optimizer: Optimizer) -> torch.Tensor | None:
    """The length of all gradients together."""
    grads = [tensor.grad for tensor in weights(optimizer) if tensor.grad is not None]
    dense = [grad for grad in grads if grad.layout is torch.strided]
    if not dense:
        return None
    norms = [value.to(dense[0].device, torch.float32) for value in torch._foreach_norm(dense)]
    return torch.linalg.vector_norm(torch.stack(norms))


def before(recorder: Recorder, optimizer: Optimizer) -> None:
    for tensor in weights(optimizer):
        if tensor.grad is not None:
            recorder.log.look("grad", _name(recorder, tensor), tensor.grad, "backward")
    for group in optimizer.param_groups:
        settings = {name: _plain(value) for name, value in group.items() if not name.startswith("param")}
        entry = {"kind": "op", "op": f"optimizer.{type(optimizer).__name__}", "phase": "optimizer"}
        told = {name: value for name, value in settings.items() if value is not None}
        recorder.append({**entry, "args": told, "at": recorder.line()})


def after(recorder: Recorder, optimizer: Optimizer, *, inner: bool) -> None:
    """The weights, and the optimizer's own tensors with `inner`, unless there are too many."""
    everything = list(weights(optimizer))
    inner = inner and sum(map(len, optimizer.state.values())) + len(everything) <= _MOST_STATE
    for tensor in everything:
        name = _name(recorder, tensor)
        recorder.log.look("state", name, tensor, "optimizer")
        if not inner:
            continue
        for key, value in sorted(optimizer.state.get(tensor, {}).items(), key=lambda item: str(item[0])):
            if isinstance(value, torch.Tensor) and value.is_floating_point() and value.numel() > 1:
                recorder.log.look("state", f"{key} of {name}", value, "optimizer")


def weights(optimizer: Optimizer) -> Iterator[torch.Tensor]:
    for group in optimizer.param_groups:
        yield from group["params"]


def _name(recorder: Recorder, tensor: torch.Tensor) -> str:
    return recorder.modules.tensors.get(id(tensor), ("", f"weight {list(tensor.shape)}"))[1]


def _plain(value: Any) -> Any:
    """A setting as JSON has it; None for what is none. A learning rate may be a tensor."""
    if isinstance(value, torch.Tensor) and value.numel() == 1 and value.device.type == "cpu":
        return float(value)
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value if type(value) in SIMPLE else None
