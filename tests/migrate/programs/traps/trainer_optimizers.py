"""The transformers Trainer with several optimizers: the weights they end with, or the error they meet."""

from __future__ import annotations

import json
import sys
import tempfile

import torch
from torch import nn
from transformers import Trainer, TrainingArguments


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.Linear(3, 1)

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        answer = self.layer(x).squeeze(-1)
        return {"loss": ((answer - labels) ** 2).mean(), "logits": answer}


def rows() -> list[dict[str, object]]:
    numbers = torch.linspace(-1, 1, 48).view(16, 3)
    return [{"x": numbers[at], "labels": float(at)} for at in range(16)]


def trained(folder: str, **options: object) -> list[float] | str:
    arguments = TrainingArguments(
        folder, per_device_train_batch_size=4, num_train_epochs=2, learning_rate=0.1, weight_decay=0.01,
        max_grad_norm=0, report_to=[], save_strategy="no", logging_strategy="no", disable_tqdm=True, seed=0,
        dataloader_pin_memory=False, **options,
    )  # fmt: skip
    model = Model()
    try:
        Trainer(model, arguments, train_dataset=rows()).train()
    except TypeError as error:
        return str(error)
    return [round(number, 4) for number in model.layer.weight.detach().flatten().tolist()]


with tempfile.TemporaryDirectory() as folder:
    found = {
        "adamw_torch": trained(folder, optim="adamw_torch"),
        "adamw_torch_fused": trained(folder, optim="adamw_torch_fused"),
        "adamw_torch_npu_fused": trained(folder, optim="adamw_torch_npu_fused"),
        "fp16": trained(folder, fp16=True),
        "fp16, adamw_torch": trained(folder, fp16=True, optim="adamw_torch"),
    }
print(json.dumps(found), file=sys.stdout)
