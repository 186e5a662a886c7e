"""transformers' Trainer on an NPU: `jumar run transformers_trainer.py`. Nothing in it names the card."""

from __future__ import annotations

import tempfile

import transformers

import tiny


class Tell(transformers.TrainerCallback):
    def on_log(self, args, state, control, logs=None, **kwargs):  # type: ignore[no-untyped-def]
        if state.is_world_process_zero and "loss" in logs:
            tiny.tell(state.global_step, logs["loss"], args.device)


def model() -> transformers.LlamaForCausalLM:
    transformers.set_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=tiny.WORDS, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=tiny.LENGTH,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        settings = transformers.TrainingArguments(
            folder, max_steps=6, per_device_train_batch_size=4, learning_rate=1e-2, logging_steps=1, report_to=[],
            save_strategy="no", disable_tqdm=True, use_cpu=tiny.device() == "cpu",
        )  # fmt: skip
        trainer = transformers.Trainer(model(), settings, train_dataset=tiny.Lines(32), callbacks=[Tell()])
        trainer.train()


if __name__ == "__main__":
    main()
