"""A LoRA adapter by peft, trained on an NPU in a plain loop: `jumar run peft_lora.py`."""

from __future__ import annotations

import peft
import torch

import tiny
from transformers_trainer import model


def main() -> None:
    device = tiny.device()
    lora = peft.LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    net = peft.get_peft_model(model(), lora).to(device)
    optimizer = torch.optim.AdamW([one for one in net.parameters() if one.requires_grad], lr=1e-2)
    for step, rows in enumerate(tiny.batches(6)):
        loss = net(input_ids=rows.to(device), labels=rows.to(device)).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        tiny.tell(step, loss.detach())


if __name__ == "__main__":
    main()
