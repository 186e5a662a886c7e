"""What the fused optimizers of torch_npu do when gradients are cleared or come in another way than they expect."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable

import torch
import torch_npu
from torch import nn

warnings.simplefilter("ignore")
Make = Callable[..., torch.optim.Optimizer]


def plain(parameters: object) -> torch.optim.Optimizer:
    return torch.optim.AdamW(parameters, lr=0.1, weight_decay=0.01)  # type: ignore[arg-type]


def fused(parameters: object) -> torch.optim.Optimizer:
    return torch_npu.optim.NpuFusedAdamW(parameters, lr=0.1, weight_decay=0.01)  # type: ignore[no-any-return]


def fused_sgd(parameters: object) -> torch.optim.Optimizer:
    return torch_npu.optim.NpuFusedSGD(parameters, lr=0.1, momentum=0.9)  # type: ignore[no-any-return]


def trained(make: Make, clear: str, *, replaced: bool = False) -> torch.Tensor:
    """The weights after four steps; `clear` is who clears the gradients."""
    torch.manual_seed(1)
    model, batch = nn.Linear(3, 2).npu(), torch.linspace(-1, 1, 12).view(4, 3).npu()
    optimizer = make(model.parameters())
    for step in range(4):
        (model if clear == "model" else optimizer).zero_grad()
        model(batch * (step + 1)).pow(2).mean().backward()
        optimizer.step()
        if replaced:
            for parameter in model.parameters():
                parameter.data = parameter.data.clone()
    return model.weight.detach().cpu()


def unfrozen(make: Make) -> float:
    """How far a layer moved that got its first gradient after the optimizer's first step."""
    torch.manual_seed(1)
    model, batch = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 2)).npu(), torch.ones(4, 3).npu()
    optimizer, before = make(model.parameters()), model[0].weight.detach().clone()
    for step in range(4):
        model[0].requires_grad_(step >= 2)
        optimizer.zero_grad()
        model(batch).pow(2).mean().backward()
        optimizer.step()
    return float((model[0].weight - before).abs().max())


def scaled(scaler: torch.amp.GradScaler) -> str:
    """The error of one step with a fused optimizer of torch, if there is one."""
    model = nn.Linear(3, 2).npu()
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    scaler.scale(model(torch.ones(4, 3).npu()).sum()).backward()
    try:
        scaler.step(optimizer)
    except TypeError as error:
        return str(error)
    return ""


wanted = trained(plain, "optimizer")
print(
    json.dumps(
        {
            "cleared by the optimizer": torch.allclose(wanted, trained(fused, "optimizer"), atol=1e-6),
            "cleared by the model": torch.allclose(wanted, trained(fused, "model"), atol=1e-3),
            "data replaced": torch.allclose(wanted, trained(fused, "optimizer", replaced=True), atol=1e-3),
            "unfrozen, plain": unfrozen(plain) > 0,
            "unfrozen, fused": unfrozen(fused_sgd) > 0,
            "scaler of torch.npu.amp": scaled(torch.npu.amp.GradScaler()),
            "scaler of torch.amp": scaled(torch.amp.GradScaler("npu")),
        }
    )
)
