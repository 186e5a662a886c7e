"""The plan as code: MindSpore in old and new spelling, PyTorch with DDP, FSDP2 and tensor parallel, the launch line."""

from __future__ import annotations

import json
import os
from typing import Any

from jumar.core.errors import UserError
from jumar.parallel.network import Network
from jumar.parallel.plan import Job
from jumar.parallel.search import Found
from jumar.tables.load import text

SCRIPT = "train.py"


def words(net: Network, job: Job, found: Found) -> dict[str, Any]:
    """What the generated MindSpore network is told."""
    plan = found.plan
    if net.family == "traced":
        name, _, function = net.source.rpartition(":")
        return {
            "file": os.path.abspath(name), "function": function, "optimizer": job.optimizer, "seq": net.fed_seq,
            "global_batch": job.global_batch, "optimizer_shard": plan.shard, "recompute": plan.recompute == "full",
        }  # fmt: skip
    places = placed(found)
    return {
        **{name: getattr(net, name) for name in (
            "family", "layers", "hidden", "inner", "heads", "kv_heads", "head_dim", "vocab", "seq", "norm", "position",
            "activation", "bias", "tied", "attention", "computed", "kept")},
        "dp": plan.dp, "tp": plan.tp, "pp": plan.pp, "micro_batches": plan.micro_batches,
        "schedule": plan.schedule, "optimizer_shard": plan.shard, "optimizer": job.optimizer,
        "global_batch": job.global_batch, "stage_of": [stage for stage, _ in places],
        "segment_of": [segment for _, segment in places],
        "sequence": plan.sequence, "selective": plan.recompute == "selective",
        "recomputed": list(range(net.layers)) if plan.recompute == "full" else [],
    }  # fmt: skip


def placed(found: Found) -> list[tuple[int, int]]:
    """Stage and segment of each layer; the interleaved schedule goes through all stages once for each segment."""
    chunks = found.plan.chunks
    return [
        (stage, segment)
        for segment in range(chunks)
        for stage, count in enumerate(found.layers)
        for _ in range(count // chunks + (segment < count % chunks))
    ]


def can_generate(net: Network, found: Found) -> str:
    """Why there is no whole generated MindSpore network for this plan; empty if there is one."""
    if net.family == "traced" and net.framework == "mindspore":
        return "" if found.plan.pp == 1 else "your own cell is compiled with data parallel, shard and recompute only"
    if net.family in ("conv", "traced"):
        return f"Jumar writes a whole MindSpore network for transformers and plain stacks, not for `{net.name}`"
    if net.experts:
        return "experts are modelled, but the generated network has none"
    if net.tied and found.plan.pp > 1:
        return "a table that embedding and head share cannot lie on two stages"
    return ""


def network(net: Network, job: Job, found: Found) -> str:
    """A whole program that trains with this plan on zeros: put your data in."""
    reason = can_generate(net, found)
    if reason:
        raise UserError(reason, "`--code` still prints the settings for your own network")
    if net.family == "traced":
        return text("parallel_own.py.txt").decode()
    given = json.dumps(words(net, job, found))
    return (
        text("parallel_network.py.txt")
        .decode()
        .replace("json.loads(sys.argv[1])", f"json.loads(sys.argv[1] if sys.argv[1:] else {given!r})")
    )


def mindspore_old(net: Network, found: Found) -> str:
    plan = found.plan
    lines = ["import mindspore as ms", "from mindspore import nn, ops", "from mindspore.communication import init", "",
             "ms.set_context(mode=ms.GRAPH_MODE)", 'ms.set_device("Ascend")', "init()",
             "ms.set_auto_parallel_context("]  # fmt: skip
    lines += [
        '    parallel_mode="semi_auto_parallel",',
        f"    device_num={plan.cards},",
        "    full_batch=True,",
        "    gradients_mean=True,",
    ]
    if plan.pp > 1:
        woven = plan.schedule == "interleaved"
        schedule = {"1f1b": "1f1b", "gpipe": "gpipe", "interleaved": "1f1b"}[plan.schedule]
        lines += [
            f"    pipeline_stages={plan.pp},",
            f'    pipeline_config={{"pipeline_scheduler": "{schedule}", "pipeline_interleave": {woven}}},',
        ]
    if plan.shard:
        lines += [
            "    enable_parallel_optimizer=True,",
            '    parallel_optimizer_config={"parallel_optimizer_threshold": 64},',
        ]
    lines += ['    comm_fusion={"allreduce": {"mode": "auto", "config": None}},', ")"]
    return "\n".join([*lines, "", *_layers(net, found)]) + "\n"


def mindspore_new(net: Network, found: Found) -> str:
    plan = found.plan
    lines = ["import mindspore as ms", "from mindspore import nn, ops", "from mindspore.communication import init",
             "from mindspore.nn.utils import no_init_parameters",
             "from mindspore.parallel.auto_parallel import AutoParallel", "",
             "ms.set_context(mode=ms.GRAPH_MODE)", 'ms.set_device("Ascend")', "init()", "with no_init_parameters():",
             "    net = make_net()  # your network, with the calls below in it",
             "    optimizer = nn.Adam(net.trainable_params())"]  # fmt: skip
    if plan.pp > 1:
        lines.append(f"net = ms.parallel.nn.Pipeline(net, {plan.micro_batches})")
    lines += [
        'parallel = AutoParallel(nn.TrainOneStepCell(net, optimizer), parallel_mode="semi_auto")',
        'parallel.dataset_strategy("full_batch")',
    ]
    if plan.pp > 1:
        lines.append(
            f'parallel.pipeline(stages={plan.pp}, scheduler="{"gpipe" if plan.schedule == "gpipe" else "1f1b"}", '
            f"interleave={plan.schedule == 'interleaved'})"
        )
    if plan.shard:
        lines.append(f'parallel.hsdp(shard_size=-1, threshold=64, optimizer_level="level{plan.shard}")')
    lines += [
        'parallel.comm_fusion({"allreduce": {"mode": "auto", "config": None}})',
        "parallel.no_init_parameters_in_compile()",
    ]
    return "\n".join([*lines, "", *_layers(net, found)]) + "\n"


def _layers(net: Network, found: Found) -> list[str]:
    """What goes into the network itself: strategies, stages, recompute, fusion groups."""
    plan = found.plan
    dp, tp = plan.dp, plan.tp
    lines = [
        f"# strategies: {dp} data-parallel x {tp} tensor-parallel cards; weights as (in, out)",
        f"column = ops.MatMul().shard((({dp}, 1), (1, {tp})))  # q, k, v, gate, up, head",
        f"row = ops.MatMul().shard((({dp}, {tp}), ({tp}, 1)))  # o, down: an AllReduce follows",
        f"elementwise = ops.GeLU().shard((({dp}, {tp}),))  # between a column and a row product",
    ]
    if net.heads:
        lines.append(
            f"heads = ops.BatchMatMul().shard((({dp}, {tp}, 1, 1), ({dp}, {tp}, 1, 1)))  # batch, heads, rows, columns"
        )
    if plan.pp > 1:
        ends, total = [], 0
        for count in found.layers:
            total += count
            ends.append(total)
        lines += ["", "# layers of each stage: " + ", ".join(map(str, found.layers)), f"ends = {ends}",
                  "for number, block in enumerate(net.blocks):",
                  "    block.pipeline_stage = next(stage for stage, end in enumerate(ends) if number < end)",
                  ]  # fmt: skip
    if plan.recompute == "full":
        lines += ["", "for block in net.blocks:", "    block.recompute()"]
    elif plan.recompute == "selective":
        lines += [
            "",
            "for block in net.blocks:",
            "    block.attention.softmax.recompute()  # and the operators around it: scores, mask, casts, context",
        ]
    lines += [
        "",
        "# gradients of four neighbouring layers travel together",
        "for number, block in enumerate(net.blocks):",
        "    block.set_comm_fusion(number // 4 + 1)",
    ]
    return lines


def torch(net: Network, job: Job, found: Found) -> str:
    plan = found.plan
    dims = [(name, size) for name, size in (("pp", plan.pp), ("dp", plan.dp), ("tp", plan.tp)) if size > 1] or [
        ("dp", 1)
    ]
    sizes, names = ", ".join(str(size) for _, size in dims), ", ".join(f'"{name}"' for name, _ in dims)
    lines = [
        "import os", "", "import torch", "import torch_npu", "import torch.distributed as dist",
        "from torch.distributed.device_mesh import init_device_mesh", "",
        'torch.npu.set_device(int(os.environ["LOCAL_RANK"]))', 'dist.init_process_group("hccl")',
        f'mesh = init_device_mesh("npu", ({sizes},), mesh_dim_names=({names},))',
        'with torch.device("meta"):', "    model = make_model()", "",
    ]  # fmt: skip
    if plan.tp > 1:
        sequence = plan.sequence
        lines += [
            "from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module",
            "",
        ]
        if sequence:
            lines += [
                "from torch.distributed.tensor.parallel import SequenceParallel  # for the norms of each block",
                "",
            ]
        lines += ["for block in model.layers:",
                  "    names = {\"self_attn.q_proj\": ColwiseParallel(), \"self_attn.k_proj\": ColwiseParallel(),",
                  "             \"self_attn.v_proj\": ColwiseParallel(), \"self_attn.o_proj\": RowwiseParallel(),",
                  "             \"mlp.gate_proj\": ColwiseParallel(), \"mlp.up_proj\": ColwiseParallel(),",
                  "             \"mlp.down_proj\": RowwiseParallel()}",
                  '    parallelize_module(block, mesh["tp"], names)', ""]  # fmt: skip
    if plan.recompute != "none":
        lines += ["from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper", "",
                  "for number, block in enumerate(model.layers):",
                  "    model.layers[number] = checkpoint_wrapper(block)", ""]  # fmt: skip
    if plan.pp > 1:
        lines += [f"# {plan.pp} stages with {', '.join(map(str, found.layers))} layers: torch.distributed.pipelining",
                  "# or ScheduleGPipe, ScheduleInterleaved1F1B",
                  "from torch.distributed.pipelining import PipelineStage, Schedule1F1B", ""]  # fmt: skip
    if plan.dp > 1 and plan.shard:
        lines += ["from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard", "",
                  f"policy = MixedPrecisionPolicy(param_dtype=torch.{net.computed}, reduce_dtype=torch.float32)",
                  "for block in model.layers:",
                  f'    fully_shard(block, mesh=mesh["dp"], mp_policy=policy, reshard_after_forward={plan.shard == 3})',
                  'fully_shard(model, mesh=mesh["dp"], mp_policy=policy)', 'model.to_empty(device="npu")']  # fmt: skip
    elif plan.dp > 1:
        lines += ['model.to_empty(device="npu")', "from torch.nn.parallel import DistributedDataParallel", "",
                  'model = DistributedDataParallel(model, process_group=mesh["dp"].get_group())']  # fmt: skip
    else:
        lines.append('model.to_empty(device="npu")')
    lines.append(
        f"# {job.global_batch // plan.dp} samples per step and data-parallel rank\n"
        "optimizer = torch.optim.AdamW(model.parameters())"
    )
    return "\n".join(lines) + "\n"


def launch(net: Network, found: Found, per_node: int) -> str:
    """The `jumar launch` line."""
    cards = found.plan.cards
    engine = " --on msrun" if net.framework == "mindspore" else ""
    if cards <= per_node:
        return f"jumar launch{engine} --cards {cards} {SCRIPT}"
    nodes = -(-cards // per_node)
    hosts = ",".join(f"host{n}" for n in range(1, min(nodes, 3) + 1)) + (",…" if nodes > 3 else "")
    return f"jumar launch{engine} --cards {per_node} --nodes {hosts} {SCRIPT}  # {nodes} machines"
