"""Trains two steps of a GPT of Megatron core with 175 B parameters: tensor parallel 8, 8 stages, 2 chunks on each.

Width 12,288, 96 layers, 96 heads, 2,048 tokens, vocabulary 51,200, 16 micro-batches of one sequence, full recompute,
distributed optimizer: the largest row of Megatron's paper on interleaved pipelines that has this shape.
"""

import os

import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401 - Megatron core is written for CUDA

torch.distributed.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
_kind = torch.Tensor.type


def _type(self, *args, **options):
    """Megatron's optimizer compares with `torch.cuda.FloatTensor`."""
    found = _kind(self, *args, **options)
    return found if args or options else found.replace("torch.npu.", "torch.cuda.")


torch.Tensor.type = _type

from megatron.core import parallel_state  # noqa: E402
from megatron.core.distributed import (  # noqa: E402
    DistributedDataParallel,
    DistributedDataParallelConfig,
    finalize_model_grads,
)
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec  # noqa: E402
from megatron.core.models.gpt.gpt_model import GPTModel  # noqa: E402
from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer  # noqa: E402
from megatron.core.pipeline_parallel.schedules import get_forward_backward_func  # noqa: E402
from megatron.core.tensor_parallel.random import model_parallel_cuda_manual_seed  # noqa: E402
from megatron.core.transformer.transformer_config import TransformerConfig  # noqa: E402

TENSOR, STAGES, CHUNKS, PASSES, TOKENS, WORDS = 8, 8, 2, 16, 2048, 51200


def configuration():
    return TransformerConfig(
        num_layers=96, hidden_size=12288, num_attention_heads=96, tensor_model_parallel_size=TENSOR,
        pipeline_model_parallel_size=STAGES, virtual_pipeline_model_parallel_size=CHUNKS, bf16=True,
        params_dtype=torch.bfloat16, pipeline_dtype=torch.bfloat16, recompute_granularity="full",
        recompute_method="uniform", recompute_num_layers=1, gradient_accumulation_fusion=False,
        bias_activation_fusion=False, masked_softmax_fusion=False, bias_dropout_fusion=False, persist_layer_norm=False,
        attention_softmax_in_fp32=True,
    )  # fmt: skip


def make(config, chunk):
    first = parallel_state.is_pipeline_first_stage(ignore_virtual=False, vp_stage=chunk)
    last = parallel_state.is_pipeline_last_stage(ignore_virtual=False, vp_stage=chunk)
    model = GPTModel(
        config, get_gpt_layer_local_spec(), WORDS, TOKENS, pre_process=first, post_process=last, vp_stage=chunk
    )
    sharded = DistributedDataParallelConfig(use_distributed_optimizer=True, overlap_grad_reduce=False)
    return DistributedDataParallel(config, sharded, model.cuda().bfloat16(), disable_bucketing=chunk > 0)


def forward(_, model):
    words = torch.zeros(1, TOKENS, dtype=torch.long, device="cuda")
    places = torch.arange(TOKENS, device="cuda")[None]
    mask = torch.ones(1, 1, TOKENS, TOKENS, dtype=torch.bool, device="cuda").triu(1)
    out = model(words, places, mask, labels=words)
    return out, lambda loss: (loss.float().mean(), {"loss": loss.detach().float().mean()})


def main():
    parallel_state.initialize_model_parallel(TENSOR, STAGES, virtual_pipeline_model_parallel_size=CHUNKS)
    model_parallel_cuda_manual_seed(1)
    config = configuration()
    models = [make(config, chunk) for chunk in range(CHUNKS)]
    wanted = OptimizerConfig(
        optimizer="adam", lr=1e-4, bf16=True, params_dtype=torch.bfloat16, use_distributed_optimizer=True
    )
    optimizer = get_megatron_optimizer(wanted, models)
    config.finalize_model_grads_func = finalize_model_grads
    config.grad_scale_func = optimizer.scale_loss
    for _ in range(2):
        for model in models:
            model.zero_grad_buffer()
        optimizer.zero_grad()
        get_forward_backward_func()(
            forward_step_func=forward, data_iterator=[None] * CHUNKS, model=models, num_microbatches=PASSES,
            seq_length=TOKENS, micro_batch_size=1, forward_only=False,
        )  # fmt: skip
        optimizer.step()


main()
