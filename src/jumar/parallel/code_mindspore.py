"""The plan as a MindSpore program: `AutoParallel` (today) or `set_auto_parallel_context` (before 2.5)."""

from __future__ import annotations

from jumar.parallel.network import Network
from jumar.parallel.plan import Job
from jumar.parallel.search import Found

FUSED = 4
"""Neighbouring layers whose gradients travel together."""
FUSION = '{"allreduce": {"mode": "auto", "config": None}}'
OPTIMIZERS = {
    "adam": "Adam(net.trainable_params())", "adamw": "AdamWeightDecay(net.trainable_params())",
    "momentum": "Momentum(net.trainable_params(), 0.1, 0.9)", "sgd": "SGD(net.trainable_params(), 0.1)",
}  # fmt: skip
YOURS = "from network import make_net  # yours: returns the loss; its layers are `net.blocks`"


def new(net: Network, job: Job, found: Found) -> str:
    """Everything up to the model; `model.train(epochs, dataset)` follows."""
    plan = found.plan
    wrapper = "Pipeline" if plan.pp > 1 else "GradAccumulation" if plan.micro_batches > 1 else ""
    wrapped = f"{wrapper}(net, {plan.micro_batches})" if wrapper else "net"
    lines = ["import mindspore as ms", "from mindspore import nn", "from mindspore.communication import init",
             "from mindspore.nn.utils import no_init_parameters",
             "from mindspore.parallel.auto_parallel import AutoParallel",
             *([f"from mindspore.parallel.nn import {wrapper}"] if wrapper else []), "", YOURS, "",
             *_start(), "", *_network(net, job, found), "",
             f'parallel = AutoParallel({wrapped}, parallel_mode="semi_auto")',
             'parallel.dataset_strategy("full_batch")', "parallel.enable_gradients_mean()"]  # fmt: skip
    if plan.pp > 1:
        lines.append(f'parallel.pipeline(stages={plan.pp}, scheduler="1f1b", interleave={plan.chunks > 1})')
    if plan.shard:
        lines.append(f'parallel.hsdp(shard_size=-1, threshold=64, optimizer_level="level{plan.shard}")')
    lines += [f"parallel.comm_fusion({FUSION})", "parallel.no_init_parameters_in_compile()",
              "model = ms.Model(parallel, optimizer=optimizer)"]  # fmt: skip
    return "\n".join(lines) + "\n"


def old(net: Network, job: Job, found: Found) -> str:
    plan = found.plan
    wrapper = "nn.PipelineCell" if plan.pp > 1 else "nn.GradAccumulationCell" if plan.micro_batches > 1 else ""
    wrapped = f"{wrapper}(net, {plan.micro_batches})" if wrapper else "net"
    settings = ['parallel_mode="semi_auto_parallel"', f"device_num={plan.cards}", "full_batch=True",
                "gradients_mean=True"]  # fmt: skip
    if plan.ep > 1:
        settings.append("enable_alltoall=True")
    if plan.pp > 1:
        settings += [f"pipeline_stages={plan.pp}",
                     f'pipeline_config={{"pipeline_scheduler": "1f1b", "pipeline_interleave": {plan.chunks > 1}}}',
                     ]  # fmt: skip
    if plan.shard:
        settings += ["enable_parallel_optimizer=True",
                     'parallel_optimizer_config={"parallel_optimizer_threshold": 64}']  # fmt: skip
    lines = ["import mindspore as ms", "from mindspore import nn", "from mindspore.communication import init",
             "from mindspore.nn.utils import no_init_parameters", "", YOURS, "", *_start(),
             "ms.set_auto_parallel_context(", *(f"    {setting}," for setting in [*settings, f"comm_fusion={FUSION}"]),
             ")", "", *_network(net, job, found), "",
             f"model = ms.Model({wrapped}, optimizer=optimizer)"]  # fmt: skip
    return "\n".join(lines) + "\n"


def _start() -> list[str]:
    return ["ms.set_context(mode=ms.GRAPH_MODE)", 'ms.set_device("Ascend")', "init()"]


def _network(net: Network, job: Job, found: Found) -> list[str]:
    """The network with its strategies, and what is set on its layers: stages, recompute, fusion groups."""
    plan = found.plan
    dp, tp, rows = plan.dp, plan.tp, plan.dp * (plan.tp if plan.sequence else 1)
    lines = [f"# {dp} data-parallel x {tp} tensor-parallel cards; weights as (in, out): ops.MatMul().shard(ways[...])",
             "ways = {", f'    "column": (({dp}, 1), (1, {tp})),  # q, k, v, gate, up, head',
             f'    "row": (({dp}, {tp}), ({tp}, 1)),  # o, down: an AllReduce follows']  # fmt: skip
    if plan.sequence:
        lines.append(f'    "row_out": (({rows}, 1),),  # the second argument of shard: a ReduceScatter instead')
    lines += [f'    "elementwise": (({dp}, {tp}),),  # between a column and a row product',
              f'    "norm": (({rows}, 1), (1,)),']  # fmt: skip
    if net.heads:
        lines.append(f'    "heads": (({dp}, {tp}, 1, 1), ({dp}, {tp}, 1, 1)),  # batch, heads, rows, columns')
    lines += ["}", "with no_init_parameters():", "    net = make_net(ways)",
              f"    optimizer = nn.{OPTIMIZERS[job.optimizer]}"]  # fmt: skip
    if plan.pp > 1:
        lines += _stages(net, found)
    if plan.recompute == "full":
        lines += ["for block in net.blocks:", "    block.recompute()"]
    elif plan.recompute == "selective":
        lines += ["for block in net.blocks:",
                  '    for name in ("scores", "scale", "to_float", "hide", "softmax", "from_float", "context"):',
                  "        getattr(block.attention, name).recompute()  # the operators of the scores"]  # fmt: skip
    if dp > 1:
        lines += ["for number, block in enumerate(net.blocks):",
                  f"    block.set_comm_fusion(number // {FUSED} + 1)  # their gradients travel together"]  # fmt: skip
    return lines


def _stages(net: Network, found: Found) -> list[str]:
    lines = [f"stages = {[stage for stage, _ in found.placed]}"]
    setting = "    block.pipeline_stage = stage"
    pairs = "zip(net.blocks, stages)"
    if found.plan.chunks > 1:
        lines.append(f"segments = {[segment for _, segment in found.placed]}")
        pairs = "zip(net.blocks, zip(stages, segments))"
        setting = "    block.pipeline_stage, block.pipeline_segment = stage"
    lines += [f"for block, stage in {pairs}:", setting]
    start = ["net.start.pipeline_stage = 0  # the embedding"] if net.family != "mlp" else []
    return [*lines, *start, f"net.end.pipeline_stage = {found.plan.pp - 1}  # the head and the loss"]
