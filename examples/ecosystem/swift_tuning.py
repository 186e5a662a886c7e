"""ms-swift on an NPU: `jumar run swift_tuning.py --how dpo`. The arguments are those of `swift sft` and `swift rlhf`."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from swift import rlhf_main, sft_main
from swift.callbacks import TrainerCallback, callbacks_map

import tiny
from tiny_text import text, write_checkpoint, write_rows
from transformers_trainer import Tell


def row(start: int) -> dict[str, object]:
    said = [{"role": "user", "content": text(start, 4)}, {"role": "assistant", "content": text(start + 4, 4)}]
    return {"messages": said, "rejected_response": text(9, 4)}


def words(folder: Path, how: str) -> list[str]:
    options = {
        "model": write_checkpoint(folder / "model"), "model_type": "llama", "template": "dummy",
        "torch_dtype": "float32", "fp16": False, "bf16": False, "check_model": False,
        "dataset": write_rows(folder / "rows.jsonl", [row(start) for start in range(0, 48, 3)]), "tuner_type": "full",
        "output_dir": folder / "out", "per_device_train_batch_size": 4, "learning_rate": 1e-2, "max_steps": 4,
        "logging_steps": 1, "save_strategy": "no", "report_to": "none", "split_dataset_ratio": 0, "max_length": 16,
        "gradient_accumulation_steps": 1, "use_cpu": tiny.device() == "cpu", "callbacks": "tell", "dataset_num_proc": 1,
    }  # fmt: skip
    if how == "dpo":
        options["rlhf_type"] = "dpo"
    return [word for name, value in options.items() for word in (f"--{name}", str(value))]


class Telling(TrainerCallback):
    """swift makes its callbacks itself, from a name."""

    on_log = Tell.on_log


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--how", choices=("sft", "dpo"), default="sft")
    parser.add_argument("--cpu", action="store_true")
    how = parser.parse_args().how
    callbacks_map["tell"] = Telling
    with tempfile.TemporaryDirectory() as name:
        (sft_main if how == "sft" else rlhf_main)(words(Path(name), how))


if __name__ == "__main__":
    main()
