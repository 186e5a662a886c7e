"""A compiled model under DistributedDataParallel, and a compiled kernel behind a collective; run by fork_ranks.py."""

import torch
import torch.distributed as dist
from torch import nn


def train(rank, compiled):
    torch.manual_seed(5)
    net = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 1)).npu()
    model = nn.parallel.DistributedDataParallel(net, device_ids=[rank])
    if compiled:
        model = torch.compile(model)
    optimizer, losses = torch.optim.SGD(model.parameters(), 0.1), []
    for step in range(4):
        torch.manual_seed(100 * step + rank)
        loss = model(torch.randn(6, 8).npu()).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(round(loss.item(), 5))
    return losses


def main(rank, size):
    start(rank, size)  # noqa: F821
    say(train(rank, False))  # noqa: F821
    say(train(rank, True))  # noqa: F821
    after = torch.compile(lambda x: x.sin() + x * 2)
    value = torch.full((500_000,), float(rank + 1)).npu()
    after(value)
    for _ in range(3):
        work = dist.all_reduce(value, async_op=True)
        work.wait()  # the stream waits, the host does not
        found = after(value)
    say(float((found - (value.sin() + value * 2)).abs().max()))  # noqa: F821
    dist.destroy_process_group()
