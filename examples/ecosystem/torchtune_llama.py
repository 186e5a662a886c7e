"""torchtune's Llama and its LoRA on an NPU: `jumar run torchtune_llama.py`."""

from __future__ import annotations

import torch
from torchtune.models.llama3 import llama3, lora_llama3
from torchtune.modules.loss import CEWithChunkedOutputLoss
from torchtune.modules.peft import get_adapter_params, set_trainable_params
from torchtune.utils import get_device

import tiny

SHAPE = {
    "vocab_size": tiny.WORDS, "num_layers": 2, "num_heads": 4, "num_kv_heads": 2, "embed_dim": 32,
    "max_seq_len": tiny.LENGTH,
}  # fmt: skip


def train(net: torch.nn.Module, device: torch.device, first: int) -> None:
    optimizer = torch.optim.AdamW([one for one in net.parameters() if one.requires_grad], lr=1e-2)
    lossy = CEWithChunkedOutputLoss(num_output_chunks=2)
    net.set_num_output_chunks(2)
    for step, rows in enumerate(tiny.batches(4)):
        rows = rows.to(device)
        loss = lossy(net(rows[:, :-1]), rows[:, 1:])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        tiny.tell(first + step, loss.detach())


def main() -> None:
    device = get_device(tiny.device())
    torch.manual_seed(0)
    train(llama3(**SHAPE).to(device), device, 0)
    lora = lora_llama3(["q_proj", "v_proj"], **SHAPE, lora_rank=4, lora_alpha=8)
    set_trainable_params(lora, get_adapter_params(lora))
    train(lora.to(device), device, 4)


if __name__ == "__main__":
    main()
