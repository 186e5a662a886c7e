"""The plan as a PyTorch program: device mesh, tensor parallel, recompute, and DDP or FSDP2."""

from __future__ import annotations

import os

from jumar.parallel.architecture import BYTES
from jumar.parallel.network import Network
from jumar.parallel.plan import Job
from jumar.parallel.search import Found

PARALLEL = "torch.distributed.tensor.parallel"
WRAPPER = "from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper"
COLUMNS = {"llama": ("mlp.gate_proj", "mlp.up_proj"), "mlp": ("mlp.up_proj",), "gpt": ("mlp.up_proj",),
           "vit": ("mlp.up_proj",)}  # fmt: skip


def program(net: Network, job: Job, found: Found) -> str:
    """Everything up to the optimizer; the loop over your data follows."""
    plan = found.plan
    dims = [(name, size) for name, size in (("pp", plan.pp), ("dp", plan.dp), ("tp", plan.tp)) if size > 1]
    dims = dims or [("dp", 1)]
    sizes, names = ", ".join(str(size) for _, size in dims), ", ".join(f'"{name}"' for name, _ in dims)
    lines = [
        *_imports(net, found), "",
        'torch.npu.set_device(int(os.environ["LOCAL_RANK"]))', 'dist.init_process_group("hccl")',
        f'mesh = init_device_mesh("npu", ({sizes},), mesh_dim_names=({names},))',
        'with torch.device("meta"):', f"    model = make_model(){_kept(net)}", _blocks(net),
    ]  # fmt: skip
    if plan.pp > 1:
        lines += ["", f"# {plan.pp} stages with {', '.join(map(str, found.layers))} layers: give each rank its own "
                  "blocks, and see PipelineStage", "# and Schedule1F1B, ScheduleGPipe or ScheduleInterleaved1F1B in "
                  "torch.distributed.pipelining"]  # fmt: skip
    if plan.tp > 1:
        lines += ["", *_tensor(net, plan.sequence)]
    if plan.recompute != "none":
        target = "block" if plan.recompute == "full" else "block.self_attn"
        place = "blocks[number]" if plan.recompute == "full" else "block.self_attn"
        lines += ["", "for number, block in enumerate(blocks):", f"    {place} = checkpoint_wrapper({target})"]
    return "\n".join([*lines, "", *_data(net, found), "", *_optimizer(net, job, found)]) + "\n"


def _kept(net: Network) -> str:
    return "" if net.kept == "float32" else f".to(torch.{net.kept})"


def _blocks(net: Network) -> str:
    if net.family == "traced" and not net.blocks:
        return "blocks = ()  # no list of equal layers was found"
    return f'blocks = model.get_submodule("{net.blocks or "layers"}")'


def _imports(net: Network, found: Found) -> list[str]:
    plan = found.plan
    file, _, function = net.source.rpartition(":")
    ours = net.family == "traced" and file.endswith(".py")
    module, function = (os.path.basename(file)[:-3], function) if ours else ("model", "make_model")
    lines = ["import os", "", "import torch", "import torch.distributed as dist", "import torch_npu"]
    if plan.recompute != "none":
        lines.append(WRAPPER)
    lines.append("from torch.distributed.device_mesh import init_device_mesh")
    if plan.dp > 1 and plan.shard:
        lines.append("from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard")
    if plan.tp > 1:
        lines.append("from torch.distributed.tensor import Replicate, Shard")
        wanted = ["ColwiseParallel", "RowwiseParallel", "parallelize_module"]
        if plan.sequence:
            wanted.append("SequenceParallel")
        if plan.sequence or _joined(net):
            wanted.append("PrepareModuleInput")
        lines.append(f"from {PARALLEL} import {', '.join(sorted(wanted))}")
    if plan.dp > 1 and not plan.shard:
        if plan.tp > 1:
            lines.append(f"from {PARALLEL}.ddp import _pre_dp_module_transform")
        lines.append("from torch.nn.parallel import DistributedDataParallel")
    name = function if function == "make_model" else f"{function} as make_model"
    return [*lines, "", f"from {module} import {name}" + ("" if ours else "  # yours: its blocks are `model.layers`")]


def _joined(net: Network) -> list[str]:
    """Parts whose products read one input: as one distributed tensor, its gradient is added up once for all."""
    return (["self_attn"] if net.heads else []) + (["mlp"] if len(COLUMNS[net.family]) > 1 else [])


def _tensor(net: Network, sequence: bool) -> list[str]:
    """Columns, then rows; with sequence parallel the norms see a slice of the tokens."""
    inside, outside = ("", "output_layouts=Shard(1)") if sequence else ("", "")
    columns = ([f"self_attn.{name}_proj" for name in "qkv"] if net.heads else []) + list(COLUMNS[net.family])
    rows = (["self_attn.o_proj"] if net.heads else []) + ["mlp.down_proj"]
    lines = ["ways = {", *(f'    "{name}": ColwiseParallel({inside}),' for name in columns),
             *(f'    "{name}": RowwiseParallel({outside}),' for name in rows)]  # fmt: skip
    if sequence:
        lines += [f'    "{name}": SequenceParallel(),' for name in ("norm1", "norm2")]
    came = "Shard(1)" if sequence else "Replicate()"
    given = f"PrepareModuleInput(input_layouts=({came},), desired_input_layouts=(Replicate(),))"
    lines += [f'    "{name}": {given},' for name in (("self_attn", "mlp") if sequence else _joined(net))]
    lines += ["}", "for block in blocks:", '    parallelize_module(block, mesh["tp"], ways)']
    if not net.heads or net.picture:
        return lines
    into = "RowwiseParallel(input_layouts=Replicate()" + (", output_layouts=Shard(1))" if sequence else ")")
    out = "ColwiseParallel(" + ("input_layouts=Shard(1), " if sequence else "") + "output_layouts=Replicate())"
    lines += ["ends = {", f'    "embed_tokens": {into},', f'    "lm_head": {out},']
    if sequence:
        lines.append('    "norm": SequenceParallel(),')
    return [*lines, "}", 'parallelize_module(model, mesh["tp"], ends)']


def _data(net: Network, found: Found) -> list[str]:
    plan = found.plan
    made = ['model.to_empty(device="npu")', "for module in model.modules():",
            '    if hasattr(module, "reset_parameters"):',
            "        module.reset_parameters()  # or load your checkpoint"]  # fmt: skip
    if plan.dp > 1 and plan.shard:
        policy = f"param_dtype=torch.{net.computed}, " if net.computed != net.kept else ""
        return [f"policy = MixedPrecisionPolicy({policy}reduce_dtype=torch.float32)", "for block in blocks:",
                f'    fully_shard(block, mesh=mesh["dp"], mp_policy=policy, reshard_after_forward={plan.shard == 3})',
                'fully_shard(model, mesh=mesh["dp"], mp_policy=policy)', *made]  # fmt: skip
    if plan.dp > 1:
        local = ["_pre_dp_module_transform(model)"] if plan.tp > 1 else []
        return [*made, *local, 'model = DistributedDataParallel(model, process_group=mesh["dp"].get_group(), '
                "gradient_as_bucket_view=True)"]  # fmt: skip
    return made


def _optimizer(net: Network, job: Job, found: Found) -> list[str]:
    plan = found.plan
    lines = [f"# {job.global_batch // plan.dp} samples per step and data-parallel rank"]
    if plan.micro_batches > 1 and plan.pp == 1:
        lines[0] += f", in {plan.micro_batches} backward passes before the optimizer's step"
        if plan.dp > 1 and not plan.shard:
            lines.append("# all but the last of them: with model.no_sync():")
    if BYTES[net.computed] != BYTES[net.kept] and not (plan.dp > 1 and plan.shard):
        lines.append(f'# forward pass: with torch.autocast("npu", dtype=torch.{net.computed}):')
    what = "model.parameters()"
    if plan.tp > 1:
        what = "list(groups.values())"
        lines += ["groups = {}  # the optimizer takes parameters of one mesh at a time",
                  "for weight in model.parameters():",
                  '    mesh_of = getattr(weight, "device_mesh", None)',
                  '    groups.setdefault(mesh_of, {"params": []})["params"].append(weight)']  # fmt: skip
    kinds = {
        "adam": f"Adam({what})", "adamw": f"AdamW({what})", "momentum": f"SGD({what}, lr=0.1, momentum=0.9)",
        "sgd": f"SGD({what}, lr=0.1)",
    }  # fmt: skip
    return [*lines, f"optimizer = torch.optim.{kinds[job.optimizer]}"]
