"""Supervised fine-tuning or preference tuning (DPO) by trl on an NPU: `jumar run trl_tuning.py --how dpo`."""

from __future__ import annotations

import argparse
import tempfile

from datasets import Dataset
from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer

import tiny
from tiny_text import text, tokenizer
from transformers_trainer import Tell, model


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--how", choices=("sft", "dpo"), default="sft")
    parser.add_argument("--cpu", action="store_true")
    how = parser.parse_args().how
    starts = range(0, 48, 3)
    with tempfile.TemporaryDirectory() as folder:
        common = {
            "output_dir": folder, "max_steps": 4, "per_device_train_batch_size": 4, "learning_rate": 1e-2,
            "logging_steps": 1, "report_to": [], "save_strategy": "no", "disable_tqdm": True, "max_length": 12,
            "use_cpu": tiny.device() == "cpu", "bf16": False,
        }  # fmt: skip
        if how == "sft":
            rows = Dataset.from_list([{"text": text(start, 10)} for start in starts])
            trainer = SFTTrainer(model(), SFTConfig(**common), train_dataset=rows, processing_class=tokenizer())
        else:
            rows = Dataset.from_list(
                [{"prompt": text(start, 4), "chosen": text(start + 4, 4), "rejected": text(9, 4)} for start in starts]
            )
            trainer = DPOTrainer(
                model(), model(), args=DPOConfig(**common), train_dataset=rows, processing_class=tokenizer()
            )
        trainer.add_callback(Tell())
        trainer.train()


if __name__ == "__main__":
    main()
