"""Trains three steps of a small network: `dry_models.py gpt|vit|cnn|moe [ddp|fsdp|tp|zero] [recompute]`.

The last line is the peak of the card's memory, as torch_npu counts it.
"""

import json
import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

KIND, WORDS = sys.argv[1], sys.argv[2:]
WIDTH, HEADS, VOCABULARY, LENGTH, BATCH, CLASSES = 192, 6, 2048, 128, 4, 100
SPREAD = next((word for word in WORDS if word in ("ddp", "fsdp", "tp", "zero")), None)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.after = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH, bias=False), nn.Linear(4 * WIDTH, WIDTH, bias=False)

    def forward(self, x):
        batch, length, _ = x.shape
        h = self.before(x)
        q, k, v = (part(h).view(batch, length, -1, WIDTH // HEADS).transpose(1, 2) for part in (self.q, self.k, self.v))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=KIND == "gpt")
        x = x + self.o(y.transpose(1, 2).reshape(batch, length, -1))
        return x + self.down(functional.gelu(self.up(self.after(x))))


class Experts(nn.Module):
    def __init__(self, count=4, chosen=2):
        super().__init__()
        self.chosen = chosen
        self.gate = nn.Linear(WIDTH, count, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.SiLU(), nn.Linear(4 * WIDTH, WIDTH)) for _ in range(count)
        )

    def forward(self, x):
        flat = x.reshape(-1, WIDTH)
        weights, places = self.gate(flat).softmax(-1).topk(self.chosen, -1)
        out = torch.zeros_like(flat)
        for number, expert in enumerate(self.experts):
            rows, slots = torch.where(places == number)
            if rows.numel():
                out.index_add_(0, rows, expert(flat[rows]) * weights[rows, slots, None])
        return x + out.view_as(x)


class Text(nn.Module):
    def __init__(self, part):
        super().__init__()
        self.words, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.ModuleList(part() for _ in range(3))
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, x):
        h = self.words(x) + self.places(torch.arange(x.shape[1], device=x.device))
        return self.head(through(self.blocks, h))


class Picture(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches, self.first = nn.Conv2d(3, WIDTH, 16, 16), nn.Parameter(torch.zeros(1, 1, WIDTH))
        self.blocks = nn.ModuleList(Block() for _ in range(3))
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(x.shape[0], -1, -1), x], 1)
        return self.head(functional.dropout(through(self.blocks, x), 0.1)[:, 0])


class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        sizes = (32, 64, 128)
        self.stem = nn.Sequential(nn.Conv2d(3, sizes[0], 7, 2, 3), nn.MaxPool2d(3, 2, 1))
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Conv2d(a, b, 3, 2, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU())
            for a, b in zip(sizes, sizes[1:])
        )
        self.head = nn.Linear(sizes[-1], CLASSES)

    def forward(self, x):
        return self.head(functional.adaptive_avg_pool2d(through(self.blocks, self.stem(x)), 1).flatten(1))


def through(blocks, h):
    for block in blocks:
        h = checkpoint(block, h, use_reentrant=False) if "recompute" in WORDS else block(h)
    return h


def spread(model):
    """The model over all ranks."""
    if SPREAD == "ddp":
        return nn.parallel.DistributedDataParallel(model)
    if SPREAD == "fsdp":
        from torch.distributed.fsdp import fully_shard

        for block in model.blocks:
            fully_shard(block)
        fully_shard(model)
    if SPREAD == "tp":
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

        columns, rows = ("q", "k", "v", "up"), ("o", "down")
        plan = {name: ColwiseParallel() for name in columns} | {name: RowwiseParallel() for name in rows}
        mesh = init_device_mesh("npu", (dist.get_world_size(),))
        for block in model.blocks:
            parallelize_module(block, mesh, plan)
    return model


def stage3(model):
    """DeepSpeed's engine with all of ZeRO; it is the optimizer, too."""
    import deepspeed

    config = {
        "train_micro_batch_size_per_gpu": BATCH, "zero_optimization": {"stage": 3}, "bf16": {"enabled": True},
        "zero_allow_untested_optimizer": True,
    }  # fmt: skip
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    return deepspeed.initialize(model=model, optimizer=optimizer, config=config)[0]


def train_stage3(model):
    for _ in range(3):
        x, y = batch()
        x = x if KIND in ("gpt", "moe") else x.bfloat16()
        model.backward(functional.cross_entropy(model(x).flatten(0, -2).float(), y))
        model.step()


def batch():
    if KIND in ("gpt", "moe"):
        x = torch.randint(0, VOCABULARY, (BATCH, LENGTH))
        return x.npu(), x.flatten().npu()
    return torch.randn(BATCH, 3, 224, 224).npu(), torch.randint(0, CLASSES, (BATCH,)).npu()


def main():
    torch.manual_seed(0)
    if SPREAD:
        torch.npu.set_device(int(os.environ["LOCAL_RANK"]))
        dist.init_process_group("hccl")
    parts = {"gpt": lambda: Text(Block), "moe": lambda: Text(Experts), "vit": Picture, "cnn": Convolutions}
    if SPREAD == "zero":
        train_stage3(stage3(parts[KIND]()))
    else:
        train(spread(parts[KIND]().npu()))
    if SPREAD:
        everybody = [None] * dist.get_world_size()
        dist.all_gather_object(everybody, "here")
        assert everybody == ["here"] * dist.get_world_size()
    if not SPREAD or dist.get_rank() == 0:
        print(json.dumps({"peak": torch.npu.max_memory_allocated(), "reserved": torch.npu.max_memory_reserved()}))
    if SPREAD:
        dist.barrier()
        dist.destroy_process_group()


def train(model):
    # Lists of operators do not mix distributed and plain tensors.
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3, foreach=SPREAD != "tp")
    for _ in range(3):
        x, y = batch()
        loss = functional.cross_entropy(model(x).flatten(0, -2), y)
        loss.backward()
        if SPREAD != "tp":
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        assert loss.item() >= 0


main()
