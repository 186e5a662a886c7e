"""DeepSpeed ZeRO on NPUs: `jumar launch --cards 2 deepspeed_zero.py --stage 3`.

DeepSpeed finds the cards by itself; the backend of its collectives is `hccl`.
"""

from __future__ import annotations

import argparse
import json

import deepspeed
import torch
from torch import nn

import tiny


class Net(nn.Module):
    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.words = nn.Embedding(tiny.WORDS, width)
        layer = nn.TransformerEncoderLayer(width, 4, 64, dropout=0.0, batch_first=True)
        self.body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(width, tiny.WORDS)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(self.words(rows)))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--stage", type=int, default=1)
    parser.add_argument("--offload", action="store_true", help="optimizer state in the host's memory, at stage 3 weights too")
    parser.add_argument("--config", type=json.loads, default={}, help='more of ds_config: {"bf16": {"enabled": true}}')
    parser.add_argument("--cpu", action="store_true")
    options = parser.parse_args()
    torch.manual_seed(0)
    zero = {"stage": options.stage}
    if options.offload:
        zero["offload_optimizer"] = {"device": "cpu"}
        if options.stage == 3:
            zero["offload_param"] = {"device": "cpu"}
    config = {
        "train_micro_batch_size_per_gpu": 4,
        "optimizer": {"type": "AdamW", "params": {"lr": 1e-2, "torch_adam": True}},
        "zero_optimization": zero,
        "zero_allow_untested_optimizer": True,
        "zero_force_ds_cpu_optimizer": False,
        **options.config,
    }
    model = Net()
    engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=config)
    for step, rows in enumerate(tiny.batches(6)):
        rows = rows.to(engine.device)
        loss = nn.functional.cross_entropy(engine(rows[:, :-1]).float().flatten(0, 1), rows[:, 1:].flatten())
        engine.backward(loss)
        engine.step()
        if engine.global_rank == 0:
            tiny.tell(step, loss.detach())


if __name__ == "__main__":
    main()
