"""DDP on two cards for tools/versions.py: two ranks with half a batch each end where one with the whole batch ends."""

import json
import os
import sys

import torch
import torch.distributed as dist
import torch_npu  # noqa: F401
from torch import nn
from torch.nn.parallel import DistributedDataParallel

STEPS = 3


def train(model, inputs, targets):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(STEPS):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()
    return [parameter.detach().cpu() for parameter in model.parameters()]


def make():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))


def main():
    rank = int(os.environ["LOCAL_RANK"])
    torch.npu.set_device(rank)
    dist.init_process_group("hccl")
    torch.manual_seed(0)
    inputs, targets = torch.randn(8, 8), torch.randn(8, 4)
    mine = slice(rank * 4, rank * 4 + 4)
    model = DistributedDataParallel(make().npu(), device_ids=[rank])
    together = train(model, inputs[mine].npu(), targets[mine].npu())
    alone = train(make(), inputs, targets)
    gap = max(map(lambda a, b: (a - b).abs().max().item(), together, alone))
    total = torch.ones(3).npu()
    dist.all_reduce(total)
    dist.destroy_process_group()
    assert gap < 1e-5 and total.tolist() == [2.0, 2.0, 2.0], (gap, total)
    if rank == 0:
        print(json.dumps({"check": "ddp", "passed": True, "said": f"weights within {gap:.1e}"}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
