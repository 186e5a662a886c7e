"""A GPT by Megatron core, split over cards: `jumar launch --cuda --cards 2 megatron_gpt.py --tensor 2`.

`--pipeline 2` deals the layers out instead. Megatron core is written for CUDA; `--cuda` applies torch_npu's own
run-time migration. `--mindspeed` replaces kernels by those of MindSpeed, which applies that migration itself.
"""

from __future__ import annotations

import argparse
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import torch

if "--mindspeed" in sys.argv:  # before Megatron; its kernels are for cards, so the CPU has Megatron alone
    if "--cpu" in sys.argv:
        from torch_npu.contrib import transfer_to_npu  # noqa: F401
    else:
        import mindspeed.megatron_adaptor  # noqa: F401

from megatron.core import parallel_state
from megatron.core.models.gpt import GPTModel
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
from megatron.core.pipeline_parallel import get_forward_backward_func
from megatron.core.tensor_parallel.random import model_parallel_cuda_manual_seed
from megatron.core.transformer.transformer_config import TransformerConfig

import tiny

WIDTH, MICRO = tiny.LENGTH - 1, 2


def build(tensor: int, pipeline: int, device: str) -> GPTModel:
    parallel_state.initialize_model_parallel(tensor, pipeline)
    model_parallel_cuda_manual_seed(0)
    if device == "cpu":  # Megatron keeps the scores of attention on the card
        scores = parallel_state.get_global_memory_buffer()
        scores.get_tensor = lambda shape, dtype, *_: torch.empty(shape, dtype=dtype)
    config = TransformerConfig(
        num_layers=2, hidden_size=32, num_attention_heads=4, use_cpu_initialization=True, hidden_dropout=0.0,
        attention_dropout=0.0, tensor_model_parallel_size=tensor, pipeline_model_parallel_size=pipeline,
        pipeline_dtype=torch.float32,
    )  # fmt: skip
    net = GPTModel(
        config, get_gpt_layer_local_spec(), tiny.WORDS, tiny.LENGTH, share_embeddings_and_output_weights=False,
        pre_process=parallel_state.is_pipeline_first_stage(), post_process=parallel_state.is_pipeline_last_stage(),
    )  # fmt: skip
    set_weights(net)
    return net.to(device)


@torch.no_grad()
def set_weights(net: GPTModel) -> None:
    """The same random weights however they are split: each rank takes its part of the whole."""
    rank, ranks = parallel_state.get_tensor_model_parallel_rank(), parallel_state.get_tensor_model_parallel_world_size()
    first = net.decoder.layers[0].layer_number - 1
    for name, weight in net.named_parameters():
        if weight.dim() < 2:
            continue
        words = name.split(".")
        if "layers" in words:  # numbered from 0 on each stage
            words[2] = str(int(words[2]) + first)
        parts = ranks if getattr(weight, "tensor_model_parallel", False) else 1
        axis, shape = weight.partition_dim if parts > 1 else 0, list(weight.shape)
        shape[axis] *= parts
        source = torch.Generator().manual_seed(zlib.crc32(".".join(words).encode()))
        whole = torch.randn(shape, generator=source) / 20
        weight.copy_(whole.chunk(parts, axis)[rank if parts > 1 else 0])


def forward_with(device: str) -> Callable[[Iterator[torch.Tensor], GPTModel], Any]:
    """What Megatron's schedules call for each micro-batch: the model's output, and what makes a loss of it."""
    places = torch.arange(WIDTH).expand(MICRO, -1).to(device)
    hidden = torch.ones(1, 1, WIDTH, WIDTH, dtype=torch.bool).triu(1).to(device)

    def forward(batches: Iterator[torch.Tensor], net: GPTModel) -> Any:
        rows = next(batches).to(device)
        out = net(rows[:, :-1].contiguous(), places, hidden, labels=rows[:, 1:].contiguous())
        return out, lambda losses: (losses.mean(), losses.mean().detach())

    return forward


def train(net: GPTModel, device: str) -> None:
    optimizer, forward = torch.optim.AdamW(net.parameters(), lr=1e-2), forward_with(device)
    for step, rows in enumerate(tiny.batches(5)):
        losses = get_forward_backward_func()(
            forward_step_func=forward, data_iterator=iter(rows.split(MICRO)), model=net, num_microbatches=2,
            seq_length=WIDTH, micro_batch_size=MICRO, forward_only=False,
        )  # fmt: skip
        optimizer.step()
        optimizer.zero_grad()
        if losses and parallel_state.get_tensor_model_parallel_rank() == 0:
            tiny.tell(step, torch.stack(losses).mean())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tensor", type=int, default=1, help="cards that share each layer")
    parser.add_argument("--pipeline", type=int, default=1, help="cards that the layers are dealt out to")
    parser.add_argument("--mindspeed", action="store_true", help="with MindSpeed's kernels")
    parser.add_argument("--cpu", action="store_true")
    options, _ = parser.parse_known_args()
    device = "cpu" if options.cpu else "cuda"
    torch.distributed.init_process_group("gloo" if options.cpu else "nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    split = (1, 1) if options.cpu else (options.tensor, options.pipeline)
    train(build(*split, device), device)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
