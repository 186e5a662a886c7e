"""Tuning by trl on an NPU: `jumar run trl_tuning.py --how grpo`. Supervised, by preferences, by rewards."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import torch
import transformers
import trl
from datasets import Dataset

import tiny
from tiny_text import text, tokenizer, write_checkpoint
from transformers_trainer import Tell, model

STARTS = range(0, 48, 3)
PAIRS = [{"prompt": f"{text(at, 4)} ", "chosen": text(at + 4, 4), "rejected": text(9, 4)} for at in STARTS]


def sft(**settings: Any) -> transformers.Trainer:
    rows = Dataset.from_list([{"text": text(at, 10)} for at in STARTS])
    settings = trl.SFTConfig(max_length=12, **settings)
    return trl.SFTTrainer(model(), settings, train_dataset=rows, processing_class=tokenizer())


def dpo(**settings: Any) -> transformers.Trainer:
    settings = trl.DPOConfig(max_length=12, **settings)
    rows = Dataset.from_list(PAIRS)
    return trl.DPOTrainer(model(), model(), args=settings, train_dataset=rows, processing_class=tokenizer())


def kto(**settings: Any) -> transformers.Trainer:
    said = [{"prompt": one["prompt"], "completion": one["chosen"], "label": True} for one in PAIRS[::2]]
    said += [{"prompt": one["prompt"], "completion": one["rejected"], "label": False} for one in PAIRS[1::2]]
    settings = trl.KTOConfig(max_length=12, **settings)
    rows = Dataset.from_list(said)
    return trl.KTOTrainer(model(), model(), args=settings, train_dataset=rows, processing_class=tokenizer())


def reward(**settings: Any) -> transformers.Trainer:
    transformers.set_seed(0)
    config = model().config
    config.num_labels, config.pad_token_id = 1, tokenizer().pad_token_id
    judge = transformers.LlamaForSequenceClassification(config)
    settings = trl.RewardConfig(max_length=12, **settings)
    rows = Dataset.from_list(PAIRS)
    return trl.RewardTrainer(judge, args=settings, train_dataset=rows, processing_class=tokenizer())


class Drawn(transformers.LogitsProcessor):
    """Chance from the host: with the largest of what it leaves, a card and the CPU write the same words."""

    def __init__(self) -> None:
        self.chance = torch.Generator().manual_seed(0)

    def __call__(self, words: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        return scores - torch.rand(scores.shape, generator=self.chance).log().neg().log().to(scores)


class Writer(transformers.LlamaForCausalLM):
    drawn = Drawn()

    def generate(self, *words: Any, **options: Any) -> Any:
        return super().generate(*words, logits_processor=[self.drawn], **options)


def different(completions: list[str], **_: Any) -> list[float]:
    return [float(len(set(answer.split()))) for answer in completions]


def grpo(**settings: Any) -> transformers.Trainer:
    """The model writes the answers, and `different` rewards them. trl reads the model to stay near from its folder."""
    writer = Writer.from_pretrained(write_checkpoint(Path(settings["output_dir"]) / "model"))
    settings = trl.GRPOConfig(
        num_generations=4, max_completion_length=6, top_k=1, beta=0.04, model_init_kwargs={"device_map": None}, **settings
    )  # trl would spread the model to stay near over all cards that this process sees
    rows = Dataset.from_list([{"prompt": one["prompt"]} for one in PAIRS])
    return trl.GRPOTrainer(writer, different, args=settings, train_dataset=rows, processing_class=tokenizer())


WAYS = {way.__name__: way for way in (sft, dpo, kto, reward, grpo)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--how", choices=WAYS, default="sft")
    parser.add_argument("--cpu", action="store_true")
    with tempfile.TemporaryDirectory() as folder:
        trainer = WAYS[parser.parse_args().how](
            output_dir=folder, max_steps=4, per_device_train_batch_size=4, learning_rate=1e-2, logging_steps=1,
            report_to=[], save_strategy="no", disable_tqdm=True, use_cpu=tiny.device() == "cpu", bf16=False,
        )  # fmt: skip
        trainer.add_callback(Tell())
        trainer.train()


if __name__ == "__main__":
    main()
