"""A user's program with data loaders and habits: `dry_user.py [--batch-size N] [--width N] [--habit NAME]`."""

import argparse
import json
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=8)
parser.add_argument("--width", type=int, default=256)
parser.add_argument("--habit", choices=("none", "wait", "rows", "accelerate"), default="none")
parser.add_argument("--local_rank", "--local-rank", type=int, default=None)
ARGS = parser.parse_args()


class Sums(Dataset):
    """Counts its reads."""

    reads = 0

    def __len__(self):
        return 10_000

    def __getitem__(self, place):
        Sums.reads += 1
        return {"x": torch.full((ARGS.width,), float(place)), "y": place % 10}


def model():
    return nn.Sequential(nn.Linear(ARGS.width, 4 * ARGS.width), nn.ReLU(), nn.Linear(4 * ARGS.width, 10))


def look(logits):
    """Looks at values that are not computed."""
    if ARGS.habit == "wait":
        while not logits.abs().max().item() > 1:
            logits = logits * 2
    if ARGS.habit == "rows":
        return logits[logits.amax(-1) > 0]
    return logits


def main():
    loader = DataLoader(Sums(), batch_size=ARGS.batch_size, shuffle=True)
    found, many = {}, int(os.environ.get("WORLD_SIZE", 1)) > 1
    if many:
        torch.npu.set_device(int(os.environ["LOCAL_RANK"]))
        dist.init_process_group("hccl")
        found["world"] = dist.get_world_size()
    net = model().npu()
    if many:
        net = nn.parallel.DistributedDataParallel(net)
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    if ARGS.habit == "accelerate":
        from accelerate import Accelerator

        accelerator = Accelerator()
        found["accelerate"] = accelerator.num_processes
        found["precision"] = accelerator.mixed_precision
    for number, batch in enumerate(loader):
        y = batch.pop("y").npu()
        logits = look(net(batch["x"].npu()))
        found["rows"] = len(logits)
        loss = nn.functional.cross_entropy(logits, y[: len(logits)])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if number == 2:
            break
    found |= {"peak": torch.npu.max_memory_allocated(), "reads": Sums.reads, "local_rank": ARGS.local_rank}
    print(json.dumps({"peak": found.pop("peak"), **found}), flush=True)


main()
