"""A GPT by Megatron core, split over cards: `jumar launch --cuda --cards 2 megatron_gpt.py --tensor 2`.

Megatron core is written for CUDA; `--cuda` applies torch_npu's own run-time migration. MindSpeed, which replaces its
kernels by NPU ones, is on no package index.
"""

from __future__ import annotations

import argparse
import os

import torch
from megatron.core import parallel_state
from megatron.core.models.gpt import GPTModel
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
from megatron.core.tensor_parallel.random import model_parallel_cuda_manual_seed
from megatron.core.transformer.transformer_config import TransformerConfig

import tiny


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tensor", type=int, default=1, help="cards that share each layer")
    options = parser.parse_args()
    torch.distributed.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    parallel_state.initialize_model_parallel(tensor_model_parallel_size=options.tensor)
    torch.manual_seed(0)
    model_parallel_cuda_manual_seed(0)
    config = TransformerConfig(
        num_layers=2, hidden_size=32, num_attention_heads=4, use_cpu_initialization=True, hidden_dropout=0.0,
        attention_dropout=0.0, tensor_model_parallel_size=options.tensor,
    )  # fmt: skip
    net = GPTModel(config, get_gpt_layer_local_spec(), tiny.WORDS, tiny.LENGTH).cuda()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
    places = torch.arange(tiny.LENGTH - 1).expand(4, -1).cuda()
    hidden = torch.ones(1, 1, tiny.LENGTH - 1, tiny.LENGTH - 1, dtype=torch.bool).triu(1).cuda()
    for step, rows in enumerate(tiny.batches(5)):
        rows = rows.cuda()
        loss = net(rows[:, :-1].contiguous(), places, hidden, labels=rows[:, 1:].contiguous()).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if torch.distributed.get_rank() == 0:
            tiny.tell(step, loss.detach())
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
