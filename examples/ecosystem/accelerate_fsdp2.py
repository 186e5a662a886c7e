"""FSDP2 by accelerate on two NPUs: `jumar launch --cards 2 accelerate_fsdp2.py`."""

from __future__ import annotations

import torch
from accelerate import Accelerator, FullyShardedDataParallelPlugin

import tiny
from transformers_trainer import model


def main() -> None:
    plugin = FullyShardedDataParallelPlugin(
        fsdp_version=2, auto_wrap_policy="transformer_based_wrap", transformer_cls_names_to_wrap=["LlamaDecoderLayer"]
    )
    accelerator = Accelerator(fsdp_plugin=plugin, cpu=tiny.device() == "cpu")
    net = model()
    net, optimizer = accelerator.prepare(net, torch.optim.AdamW(net.parameters(), lr=1e-2))
    for step, rows in enumerate(tiny.batches(6)):
        rows = rows.to(accelerator.device)
        loss = net(input_ids=rows, labels=rows).loss
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        if accelerator.is_main_process:
            tiny.tell(step, loss.detach())
    accelerator.end_training()


if __name__ == "__main__":
    main()
