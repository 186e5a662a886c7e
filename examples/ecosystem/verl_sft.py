"""verl's trainer with Ray on NPUs: `jumar run verl_sft.py --cards 2`. Ray starts a worker for each card.

verl 0.9 generates with vLLM or SGLang only, so this is its supervised trainer, not GRPO or PPO. `--cpu` trains the same
model on the same batches in a plain loop.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import pandas
import ray
import torch
from hydra import compose, initialize_config_module
from verl.trainer import sft_trainer_ray
from verl.utils.device import auto_set_device

import tiny
from tiny_text import text, tokenizer, write_checkpoint
from transformers_trainer import model

STEPS, BATCH, RATE = 4, 4, 1e-2
ROWS = [[text(start, 4), text(start + 4, 8)] for start in range(STEPS * BATCH)]


class Tell:
    """Takes the place of verl's console and its experiment trackers."""

    def __init__(self, **_: Any) -> None:
        pass

    def log(self, data: dict[str, Any], step: int) -> None:
        if "train/loss" in data:
            tiny.tell(step, data["train/loss"], torch.device("npu"))


def on_cards(folder: Path, cards: int) -> None:
    said = [[{"role": "user", "content": ask}, {"role": "assistant", "content": answer}] for ask, answer in ROWS]
    pandas.DataFrame({"messages": said}).to_parquet(folder / "rows.parquet")
    with initialize_config_module("verl.trainer.config", version_base=None):
        config = compose("sft_trainer_engine", [
            f"model.path={write_checkpoint(folder / 'model')}", f"data.train_files={folder / 'rows.parquet'}",
            f"data.train_batch_size={BATCH}", f"data.micro_batch_size_per_gpu={BATCH // cards}", "data.num_workers=0",
            "data.use_dynamic_bsz=false", "data.max_length=32", "engine.strategy=fsdp2",
            "+engine.mixed_precision={param_dtype: fp32}", "engine.use_torch_compile=false", f"optim.lr={RATE}",
            "+model.override_config.attn_implementation=eager", "model.use_remove_padding=false",
            f"trainer.n_gpus_per_node={cards}", f"trainer.default_local_dir={folder / 'out'}",
            "trainer.total_epochs=1", "trainer.logger=[console]",
        ])  # fmt: skip
    auto_set_device(config)
    sft_trainer_ray.Tracking = Tell
    ray.init(num_cpus=10 * cards + 1, include_dashboard=False)  # verl books 10 processors for each card
    sft_trainer_ray.SFTTrainer(config=config).fit()
    ray.shutdown()


def on_cpu() -> None:
    net, words = model(), tokenizer()
    optimizer = torch.optim.AdamW(net.parameters(), lr=RATE, weight_decay=0.01)
    order = list(torch.utils.data.DistributedSampler(ROWS, num_replicas=1, rank=0))  # as verl shuffles them
    for step in range(STEPS):
        mine = [ROWS[at] for at in order[step * BATCH : (step + 1) * BATCH]]
        rows = words([f"{ask} {answer}" for ask, answer in mine], return_tensors="pt").input_ids
        labels = rows.clone()
        labels[:, :4] = -100
        loss = net(input_ids=rows, labels=labels).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        tiny.tell(step + 1, loss.detach())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cards", type=int, default=2)
    parser.add_argument("--cpu", action="store_true")
    options = parser.parse_args()
    if options.cpu:
        on_cpu()
        return
    with tempfile.TemporaryDirectory() as folder:
        on_cards(Path(folder), options.cards)


if __name__ == "__main__":
    main()
