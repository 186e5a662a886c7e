"""transformers' Trainer on an NPU: `jumar run transformers_trainer.py --model mixtral --set bf16=true`.

Nothing in it names the card. `--set` takes any of Trainer's arguments.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from typing import Any

import transformers

import tiny
import tiny_models


class Tell(transformers.TrainerCallback):
    def on_log(self, args, state, control, logs=None, **kwargs):  # type: ignore[no-untyped-def]
        if state.is_world_process_zero and "loss" in logs:
            tiny.tell(state.global_step, logs["loss"], args.device)


def model() -> transformers.PreTrainedModel:
    return tiny_models.make("llama")


def setting(words: str) -> tuple[str, Any]:
    """`bf16=true`, `optim=adamw_torch`, `fsdp_config={"version": 2}`"""
    name, _, value = words.partition("=")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=tiny_models.NAMES, default="llama")
    parser.add_argument("--set", type=setting, nargs="+", default=[], metavar="NAME=VALUE")
    parser.add_argument("--cpu", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        settings = {
            "max_steps": 6, "per_device_train_batch_size": 4, "learning_rate": 1e-2, "logging_steps": 1,
            "report_to": [], "save_strategy": "no", "disable_tqdm": True, "use_cpu": tiny.device() == "cpu",
            **dict(options.set),
        }  # fmt: skip
        trainer = transformers.Trainer(
            tiny_models.make(options.model), transformers.TrainingArguments(folder, **settings),
            train_dataset=tiny_models.Rows(options.model), callbacks=[Tell()],
        )  # fmt: skip
        trainer.train()


if __name__ == "__main__":
    main()
