"""Libraries from the package index train on the emulated card as they do on the CPU."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from running import Run

_ACCELERATE = """
import torch
from accelerate import Accelerator
torch.manual_seed(0)
accelerator = Accelerator()
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
data = torch.utils.data.TensorDataset(torch.randn(16, 4), torch.randn(16, 1))
model, optimizer, loader = accelerator.prepare(model, optimizer, torch.utils.data.DataLoader(data, 8))
for x, y in loader:
    loss = ((model(x) - y) ** 2).mean()
    accelerator.backward(loss)
    optimizer.step()
    optimizer.zero_grad()
print(accelerator.device.type, loss.device)
"""
_TRAINER = """
import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

def train(**more):
    torch.manual_seed(0)
    config = GPT2Config(n_layer=2, n_head=2, n_embd=32, vocab_size=64, n_positions=32, resid_pdrop=0.0, embd_pdrop=0.0,
                        attn_pdrop=0.0)
    rows = [{"input_ids": torch.arange(16) % 7 + i % 3, "labels": torch.arange(16) % 7 + i % 3} for i in range(16)]
    arguments = TrainingArguments(OUT, num_train_epochs=1, per_device_train_batch_size=8, report_to=[],
                                  save_strategy="no", logging_steps=1, disable_tqdm=True, **more)
    trainer = Trainer(GPT2LMHeadModel(config), arguments, train_dataset=rows)
    trainer.train()
    return arguments.device.type, [row["loss"] for row in trainer.state.log_history if "loss" in row]

device, on_card = train()
_, on_cpu = train(use_cpu=True)
print(device, all(abs(a - b) < 1e-3 for a, b in zip(on_card, on_cpu, strict=True)), len(on_card))
"""
_PEFT = """
import torch
from peft import LoraConfig, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel
torch.manual_seed(0)
model = GPT2LMHeadModel(GPT2Config(n_layer=1, n_head=2, n_embd=32, vocab_size=64, n_positions=32))
lora = LoraConfig(r=4, target_modules=["c_attn"], task_type="CAUSAL_LM", fan_in_fan_out=True)
model = get_peft_model(model, lora).npu()
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], 1e-2)
tokens = torch.randint(0, 64, (4, 16)).npu()
losses = []
for _ in range(3):
    loss = model(input_ids=tokens, labels=tokens).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    losses.append(loss.item())
print(loss.device, len(losses))
"""


def _need(*packages: str) -> None:
    for package in packages:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed: pip install {package}")


def test_accelerate_trains(run: Run) -> None:
    _need("accelerate")
    assert run(_ACCELERATE).stdout == "npu npu:0\n"


def test_trainer_of_transformers_gives_the_losses_of_the_cpu(run: Run, tmp_path: Path) -> None:
    _need("accelerate", "transformers")
    done = run(f"OUT = {str(tmp_path)!r}\n{_TRAINER}")
    assert done.stdout.splitlines()[-1] == "npu True 2"


def test_peft_trains_an_adapter(run: Run) -> None:
    _need("accelerate", "transformers", "peft")
    assert run(_PEFT).stdout == "npu:0 3\n"
