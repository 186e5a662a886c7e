"""LLaMA-Factory on an NPU: `jumar run llamafactory_tuning.py --stage dpo`. The same settings as in its YAML files."""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from llamafactory.train.tuner import run_exp

import tiny
from tiny_text import text, write_checkpoint, write_rows
from transformers_trainer import Tell


def write_data(folder: Path) -> None:
    starts = range(0, 48, 3)
    rows = [{"prompt": text(at, 4), "good": text(at + 4, 4), "bad": text(9, 4)} for at in starts]
    write_rows(folder / "counting.jsonl", rows)
    columns = {"prompt": "prompt", "response": "good"}
    pairs = {"prompt": "prompt", "chosen": "good", "rejected": "bad"}
    known = {
        "sft": {"file_name": "counting.jsonl", "columns": columns},
        "dpo": {"file_name": "counting.jsonl", "columns": pairs, "ranking": True},
    }
    (folder / "dataset_info.json").write_text(json.dumps(known), encoding="utf-8")


def settings(folder: Path, stage: str, how: str) -> dict[str, Any]:
    return {
        "model_name_or_path": write_checkpoint(folder / "model"), "stage": stage, "do_train": True,
        "finetuning_type": how, "template": "empty", "dataset": stage, "dataset_dir": str(folder), "cutoff_len": 16,
        "output_dir": str(folder / "out"), "per_device_train_batch_size": 4, "learning_rate": 1e-2, "max_steps": 4,
        "logging_steps": 1, "save_strategy": "no", "report_to": "none", "disable_tqdm": True, "lora_rank": 4,
        "use_cpu": tiny.device() == "cpu",
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--stage", choices=("sft", "dpo"), default="sft")
    parser.add_argument("--how", choices=("full", "lora"), default="lora")
    parser.add_argument("--cpu", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_data(folder)
        run_exp(settings(folder, options.stage, options.how), [Tell()])


if __name__ == "__main__":
    main()
