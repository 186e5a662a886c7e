"""Two steps under torch's own trackers of memory and of collectives, with tensor parallel on two cards.

The last line has their figures: bytes of the peak by kind, and how often each collective was called in a step.
"""

import json
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed._tools.mem_tracker import MemTracker
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.debug import CommDebugMode
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

WIDTH = 1024


def make():
    blocks = [nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)) for _ in range(4)]
    model = nn.Sequential(*blocks).npu()
    mesh = init_device_mesh("npu", (dist.get_world_size(),))
    for block in model:
        parallelize_module(block, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    return model


def step(model, optimizer):
    x = torch.zeros(4096, WIDTH, device="npu", requires_grad=True)
    model(x).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()


def main():
    torch.npu.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("hccl")
    model = make()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3, foreach=False)
    memory = MemTracker()
    memory.track_external(model, optimizer)
    with memory:
        step(model, optimizer)
        memory.reset_mod_stats()
        with CommDebugMode() as collectives:
            step(model, optimizer)
    (peak,) = (held for device, held in memory.get_tracker_snapshot("peak").items() if device.type == "npu")
    counts = {str(name).rpartition(".")[2]: count for name, count in collectives.get_comm_counts().items()}
    kinds = {str(getattr(kind, "value", kind)): size for kind, size in peak.items()}
    print(json.dumps({"peak": kinds, "collectives": counts}), flush=True)


main()
