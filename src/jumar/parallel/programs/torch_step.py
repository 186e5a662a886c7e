"""Trains three steps on zeros with the program of a plan and writes what each rank measured.

Written by Jumar (Apache-2.0). The program of the plan is `jumar_plan.py` and its words are in `words.json`, both beside
this file. `rank_N.json` gets the peaks of the last step and the bytes that it gave to collectives.
"""

import contextlib
import importlib
import json
from pathlib import Path

import torch
import torch.distributed as dist
from jumar_plan import model, optimizer
from torch.utils._python_dispatch import TorchDispatchMode

GIVEN = json.loads(Path(__file__).with_name("words.json").read_text())


class Volume(TorchDispatchMode):
    """Bytes given to collectives: those of the dispatcher while the mode is on, or the buckets of DDP."""

    def __init__(self):
        super().__init__()
        self.bytes = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function.overloadpacket.__name__
        if "c10d" in function.namespace and not any(word in name for word in ("wait", "wrap", "barrier")):
            self.bytes += handed(name, args)
        return function(*args, **(kwargs or {}))

    def bucket(self, state, bucket):
        from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

        self.bytes += bucket.buffer().numel() * bucket.buffer().element_size()
        return default_hooks.allreduce_hook(state, bucket)


def handed(name, args):
    """Bytes that a collective reads; `allgather_base_` and its like name the result first."""
    flat = [[x] if isinstance(x, torch.Tensor) else list(x) if isinstance(x, (list, tuple)) else [] for x in args]
    tensors = [[x for x in one if isinstance(x, torch.Tensor)] for one in flat]
    tensors = [one for one in tensors if one]
    second = name.startswith(("_allgather_base", "_reduce_scatter_base"))
    read = tensors[1] if second else tensors[0] if tensors else []
    return sum(x.numel() * x.element_size() for x in read)


def make_inputs(batch):
    """Zeros in the shape that the model takes."""
    if GIVEN["family"] == "mlp":
        return (torch.zeros(batch, GIVEN["hidden"]),)
    if GIVEN["family"] == "vit":
        picture = GIVEN["picture"]
        return (torch.zeros(batch, picture["channels"], picture["side"], picture["side"]),)
    if GIVEN["family"] != "traced":
        return (torch.zeros(batch, GIVEN["seq"], dtype=torch.long),)
    module = importlib.import_module(GIVEN["module"])
    if hasattr(module, "make_inputs"):
        made = module.make_inputs(batch)
        return made if isinstance(made, (tuple, list)) else (made,)
    kinds = (torch.nn.Embedding, torch.nn.Linear, torch.nn.Conv2d)
    first = next(m for m in model.modules() if isinstance(m, kinds))
    if isinstance(first, torch.nn.Embedding):
        return (torch.zeros((batch, GIVEN["seq"] or 128), dtype=torch.long),)
    if isinstance(first, torch.nn.Linear):
        return (torch.zeros((batch, first.in_features)),)
    return (torch.zeros((batch, first.in_channels, 224, 224)),)


def loss_of(out, inputs):
    out = getattr(out, "logits", out)
    out = out[0] if isinstance(out, (tuple, list)) else out
    if GIVEN["family"] in ("traced", "mlp"):
        return out.float().square().mean()
    if GIVEN["family"] == "vit":
        return torch.nn.functional.cross_entropy(out.float(), out.new_zeros(len(out), dtype=torch.long))
    return torch.nn.functional.cross_entropy(out.flatten(0, 1).float(), inputs[0].flatten())


def train(inputs, volume):
    """Three steps; the peaks of the last one."""
    cast = GIVEN["computed"] != GIVEN["kept"] and not (GIVEN["dp"] > 1 and GIVEN["optimizer_shard"])
    kind = getattr(torch, GIVEN["computed"])
    precision = torch.autocast("npu", dtype=kind) if cast else contextlib.nullcontext()
    hooked = hasattr(model, "register_comm_hook")
    if hooked:
        model.register_comm_hook(None, volume.bucket)
    peaks = {}

    def peak_of(moment):
        torch.npu.synchronize()
        peaks[moment] = max(peaks.get(moment, 0), torch.npu.max_memory_allocated())
        torch.npu.reset_peak_memory_stats()

    for number in range(3):
        torch.npu.reset_peak_memory_stats()
        peaks.clear()
        volume.bytes = 0
        with volume if number == 2 and not hooked else contextlib.nullcontext():
            for left in range(GIVEN["micro_batches"], 0, -1):
                with model.no_sync() if hooked and left > 1 else contextlib.nullcontext():
                    with precision:
                        out = model(*inputs)
                    loss = loss_of(out, inputs)
                    del out
                    peak_of("forward")
                    loss.backward()
                    del loss
                    peak_of("backward")
            optimizer.step()
            peak_of("optimizer")
            optimizer.zero_grad()
    return peaks


def main():
    with torch.device("npu"):
        inputs = make_inputs(GIVEN["global_batch"] // GIVEN["dp"] // GIVEN["micro_batches"])
    volume = Volume()
    peaks = train(inputs, volume)
    written = Path(__file__).with_name(f"rank_{dist.get_rank()}.json")
    written.write_text(json.dumps({"peaks": peaks, "volume": volume.bytes}))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
