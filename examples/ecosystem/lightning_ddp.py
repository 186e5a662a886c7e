"""Lightning on NPUs: `jumar run lightning_ddp.py --cards 2 --strategy fsdp`. Lightning starts the other ranks itself."""

from __future__ import annotations

import argparse

import lightning.pytorch as pl
import torch
from torch import nn

import tiny


class Net(pl.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Embedding(tiny.WORDS, 32), nn.LayerNorm(32), nn.Linear(32, tiny.WORDS))

    def training_step(self, batch: dict[str, torch.Tensor], step: int) -> torch.Tensor:
        rows = batch["input_ids"]
        loss = nn.functional.cross_entropy(self.net(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())
        self.log("loss", loss, sync_dist=True)
        if self.global_rank == 0:
            tiny.tell(step, loss.detach())
        return loss

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.parameters(), lr=1e-2)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cards", type=int, default=1)
    parser.add_argument("--strategy", choices=("ddp", "fsdp"), default="ddp")
    parser.add_argument("--precision", help="bf16-mixed, 16-mixed")
    parser.add_argument("--cpu", action="store_true")
    options = parser.parse_args()
    pl.seed_everything(0)
    if options.cpu:
        where = {"accelerator": "cpu", "devices": options.cards, "precision": options.precision}
    else:
        from jumar.lightning import on_npu

        where = on_npu(options.cards, options.precision, options.strategy)
    clip = 1.0 if options.strategy == "ddp" else None  # Lightning clips no sharded gradients by their norm
    trainer = pl.Trainer(
        max_epochs=1, limit_train_batches=6, logger=False, enable_checkpointing=False, enable_progress_bar=False,
        gradient_clip_val=clip, **where,
    )  # fmt: skip
    trainer.fit(Net(), torch.utils.data.DataLoader(tiny.Lines(64), batch_size=4))


if __name__ == "__main__":
    main()
