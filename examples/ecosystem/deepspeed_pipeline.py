"""DeepSpeed's pipeline on NPUs, a stage for each card: `jumar launch --cards 2 deepspeed_pipeline.py`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import deepspeed
import torch
from deepspeed.pipe import LayerSpec, PipelineModule
from torch import nn

import tiny

WIDTH = 32


def loss_of(words: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    return nn.functional.cross_entropy(words.flatten(0, 1), wanted.flatten())


def pairs() -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    for rows in tiny.batches(8):
        yield rows[:, :-1], rows[:, 1:].contiguous()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cpu", action="store_true")
    parser.parse_args()
    deepspeed.init_distributed()
    layer = LayerSpec(nn.TransformerEncoderLayer, WIDTH, 4, 64, dropout=0.0, batch_first=True)
    net = PipelineModule(
        [LayerSpec(nn.Embedding, tiny.WORDS, WIDTH), layer, layer, LayerSpec(nn.Linear, WIDTH, tiny.WORDS)],
        num_stages=2, loss_fn=loss_of, partition_method="uniform", seed_layers=True,
    )  # fmt: skip
    config = {
        "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2, "zero_optimization": {"stage": 1},
        "zero_allow_untested_optimizer": True,
        "optimizer": {"type": "AdamW", "params": {"lr": 1e-2, "torch_adam": True}},
    }  # fmt: skip
    engine, *_ = deepspeed.initialize(model=net, model_parameters=list(net.parameters()), config=config)
    data = pairs()
    for step in range(4):
        loss = engine.train_batch(data)
        if engine.global_rank == 0:
            tiny.tell(step, loss)


if __name__ == "__main__":
    main()
