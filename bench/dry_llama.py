"""Trains two steps of a Llama of transformers: `dry_llama.py SIZE TENSOR_PARALLEL [BATCH TOKENS selective]`.

FSDP2 over the other cards, float32 weights and AdamW, bfloat16 products (`MixedPrecisionPolicy`), recompute; one
sequence of 4,096 tokens unless told otherwise. `selective` keeps every second product and the attention, as torchtitan
does by default.
"""

import functools
import os
import sys

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts
from transformers import LlamaConfig, LlamaForCausalLM

SIZES = {
    "7b": {"hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32},
    "8b": {"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
           "num_key_value_heads": 8, "vocab_size": 128256},
    "70b": {"hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 80, "num_attention_heads": 64,
            "num_key_value_heads": 8},
}  # fmt: skip
COLUMNS = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "mlp.gate_proj", "mlp.up_proj")
ROWS = ("self_attn.o_proj", "mlp.down_proj")


def selective():
    """Contexts of one block."""
    products = [0]

    def choose(context, function, *_, **__):
        if "attention" in str(function):
            return CheckpointPolicy.MUST_SAVE
        if function is torch.ops.aten.mm.default and not context.is_recompute:
            products[0] += 1
            return CheckpointPolicy.MUST_SAVE if products[0] % 2 else CheckpointPolicy.PREFER_RECOMPUTE
        return CheckpointPolicy.PREFER_RECOMPUTE

    return create_selective_checkpoint_contexts(choose)


def make(size, tensor, tokens, options):
    known = {"vocab_size": 32000, **SIZES[size]}
    with torch.device("meta"):
        model = LlamaForCausalLM(LlamaConfig(max_position_embeddings=tokens, use_cache=False, **known))
    model.gradient_checkpointing_enable({"use_reentrant": False, **options})
    mesh = init_device_mesh("npu", (dist.get_world_size() // tensor, tensor), mesh_dim_names=("dp", "tp"))
    plan = {name: ColwiseParallel() for name in COLUMNS} | {name: RowwiseParallel() for name in ROWS}
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for layer in model.model.layers:
        if tensor > 1:
            parallelize_module(layer, mesh["tp"], plan)
        fully_shard(layer, mesh=mesh["dp"], mp_policy=policy)
    fully_shard(model, mesh=mesh["dp"], mp_policy=policy)
    return model.to_empty(device="npu")


def main():
    size, tensor = sys.argv[1], int(sys.argv[2])
    batch, tokens = map(int, sys.argv[3:5] or (1, 4096))
    options = {"context_fn": functools.partial(selective)} if "selective" in sys.argv else {}
    torch.npu.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("hccl")
    model = make(size, tensor, tokens, options)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, foreach=tensor == 1)
    for _ in range(2):
        x = torch.randint(0, 32000, (batch, tokens)).npu()
        model(input_ids=x, labels=x).loss.backward()
        optimizer.step()
        optimizer.zero_grad()


main()
