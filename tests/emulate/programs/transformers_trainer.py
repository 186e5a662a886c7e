import os

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments


def train(**more):
    torch.manual_seed(0)
    config = GPT2Config(
        n_layer=2, n_head=2, n_embd=32, vocab_size=64, n_positions=32, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0
    )
    rows = [{"input_ids": torch.arange(16) % 7 + i % 3, "labels": torch.arange(16) % 7 + i % 3} for i in range(16)]
    arguments = TrainingArguments(
        os.environ["OUT"],
        num_train_epochs=1,
        per_device_train_batch_size=8,
        report_to=[],
        save_strategy="no",
        logging_steps=1,
        disable_tqdm=True,
        **more,
    )
    trainer = Trainer(GPT2LMHeadModel(config), arguments, train_dataset=rows)
    trainer.train()
    return arguments.device.type, [row["loss"] for row in trainer.state.log_history if "loss" in row]


device, on_card = train()
_, on_cpu = train(use_cpu=True)
print(device, all(abs(a - b) < 1e-3 for a, b in zip(on_card, on_cpu, strict=True)), len(on_card))
