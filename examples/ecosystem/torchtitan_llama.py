"""torchtitan's trainer on NPUs: `jumar launch --cards 2 torchtitan_llama.py`, which shards the model by FSDP2.

`--tensor 2` splits the layers, `--pipeline 2` deals them out; the cards that are left share the data. torchtitan has no
CPU trainer: `--cpu` trains the same model with the same weights in a plain loop. `Trainer.train()` of torchtitan 0.3.0
calls `torch.distributed.set_timeout`, which comes after torch 2.13; the steps are taken here one by one.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.distributed.tensor import DTensor, distribute_tensor
from torchtitan.components.dataloader import BaseDataLoader
from torchtitan.components.loss import CrossEntropyLoss
from torchtitan.components.metrics import MetricsProcessor
from torchtitan.components.optimizer import LRSchedulersContainer, default_adamw
from torchtitan.components.tokenizer import BaseTokenizer
from torchtitan.config.configs import ParallelismConfig, TrainingConfig
from torchtitan.models.common.attention import ScaledDotProductAttention
from torchtitan.models.llama3 import model_registry
from torchtitan.protocols.model_spec import ModelSpec
from torchtitan.trainer import Trainer

import tiny

STEPS, BATCH, RATE = 4, 4, 1e-3


class Lines(BaseDataLoader):
    """Each rank's rows of the same batches, whatever the number of ranks."""

    @dataclass(kw_only=True, slots=True)
    class Config(BaseDataLoader.Config):
        pass

    def __init__(self, config: Config, *, dp_world_size: int, dp_rank: int, local_batch_size: int, **_: Any) -> None:
        self.ranks, self.rank, self.size = dp_world_size, dp_rank, local_batch_size

    def __iter__(self) -> Iterator[tuple[dict[str, torch.Tensor], torch.Tensor]]:
        for rows in tiny.batches(STEPS, BATCH):
            for mine in rows.chunk(self.ranks)[self.rank].split(self.size):
                yield {"input": mine[:, :-1].contiguous()}, mine[:, 1:].contiguous()

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        pass


class NoText(BaseTokenizer):
    """The rows are numbers already."""

    @dataclass(kw_only=True, slots=True)
    class Config(BaseTokenizer.Config):
        pass

    def __init__(self, config: Config, **_: Any) -> None:
        super().__init__()

    def encode(self, *args: Any, **kwargs: Any) -> list[int]:
        raise NotImplementedError

    def decode(self, *args: Any, **kwargs: Any) -> str:
        raise NotImplementedError

    def get_vocab_size(self) -> int:
        return tiny.WORDS


class Tell(MetricsProcessor):
    @dataclass(kw_only=True, slots=True)
    class Config(MetricsProcessor.Config):
        pass

    def log(self, step: int, global_avg_loss: float, *rest: Any, **more: Any) -> None:
        if int(os.environ["RANK"]) == int(os.environ["WORLD_SIZE"]) - 1:  # the last stage of a pipeline has the loss
            tiny.tell(step, global_avg_loss, torch.device(tiny.device()))


@torch.no_grad()
def set_weights(model: torch.nn.Module) -> None:
    """The same random weights on every kind of device, and however they are sharded."""
    for name, weight in model.named_parameters():
        if weight.dim() > 1:
            seed = zlib.crc32(name.replace("_checkpoint_wrapped_module.", "").encode())
            whole = torch.randn(weight.shape, generator=torch.Generator().manual_seed(seed)) / 50
            if isinstance(weight, DTensor):
                whole = distribute_tensor(whole.to(weight.device), weight.device_mesh, weight.placements)
            weight.copy_(whole)


class Stages(Trainer):
    """torchtitan 0.3.0 gives a pipeline its micro-batches one by one, which torch 2.13 cannot take: here they are one."""

    def pp_forward_backward_step(
        self, *, input_dict_mbs: list[dict[str, torch.Tensor]], label_mbs: list[torch.Tensor], **lossy: Any
    ) -> torch.Tensor:
        rows = [torch.cat([one["input"] for one in input_dict_mbs])] if self.pp_has_first_stage else []
        target, losses = (torch.cat(label_mbs), []) if self.pp_has_last_stage else (None, None)
        with self.train_context():
            self.pp_schedule.step(*rows, target=target, losses=losses, loss_kwargs=lossy, return_outputs=False)
        return torch.stack(losses).sum() if losses else torch.tensor([-1.0], device=self.device)


def spec() -> ModelSpec:
    """torchtitan's own small Llama. Its flex attention is compiled for CUDA; the plain one runs on every device."""
    found = model_registry("debugmodel")
    for layer in found.model.layers:
        layer.attention.inner_attention = ScaledDotProductAttention.Config()
    return found


def on_cards(tensor: int, pipeline: int, folder: str) -> None:
    parallel = ParallelismConfig(
        tensor_parallel_degree=tensor, pipeline_parallel_degree=pipeline, spmd_backend="partial_dtensor"
    )
    shares = int(os.environ["WORLD_SIZE"]) // (tensor * pipeline)
    training = TrainingConfig(
        local_batch_size=BATCH // shares, seq_len=tiny.LENGTH, steps=STEPS, disable_cuda_graphs=True,
        mixed_precision_param="float32",
    )  # fmt: skip
    config = Trainer.Config(
        model_spec=spec(), training=training, parallelism=parallel, dataloader=Lines.Config(),
        tokenizer=NoText.Config(), metrics=Tell.Config(log_freq=1), dump_folder=folder,
        loss=CrossEntropyLoss.Config(), optimizer=default_adamw(lr=RATE),
        lr_scheduler=LRSchedulersContainer.Config(warmup_steps=0, min_lr_factor=1.0),
    )  # fmt: skip
    trainer = Stages(config)
    for part in trainer.model_parts:
        set_weights(part)
    rows = trainer.batch_generator(trainer.dataloader)
    for trainer.step in range(1, STEPS + 1):
        trainer.train_step(rows)
    trainer.close()
    torch.distributed.destroy_process_group()


def on_cpu() -> None:
    model = spec().model.build()
    model.init_weights()
    set_weights(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.95), weight_decay=0.1)
    for step, rows in enumerate(tiny.batches(STEPS, BATCH)):
        loss = torch.nn.functional.cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        tiny.tell(step + 1, loss.detach())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tensor", type=int, default=1, help="cards that share each layer")
    parser.add_argument("--pipeline", type=int, default=1, help="cards that the layers are dealt out to")
    parser.add_argument("--cpu", action="store_true")
    options = parser.parse_args()
    if options.cpu:
        on_cpu()
    else:
        with tempfile.TemporaryDirectory() as folder:
            on_cards(options.tensor, options.pipeline, folder)


if __name__ == "__main__":
    main()
