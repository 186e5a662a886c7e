"""Data, tensor and sharded training on several emulated cards: the losses of the same run with gloo on the CPU."""

from __future__ import annotations

from typing import Any

import pytest
from ranks import Ranks

_MODEL = """
def model(seed=0):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64), torch.nn.ReLU(),
                               torch.nn.Linear(64, 4))

def batch(rank, step):
    generator = torch.Generator().manual_seed(100 * step + rank)
    return torch.randn(8, 16, generator=generator), torch.randint(0, 4, (8,), generator=generator)

def train(net, optimizer, rank, device, steps=4):
    losses = []
    for step in range(steps):
        x, y = (part.to(device) for part in batch(rank, step))
        loss = torch.nn.functional.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses

def main(rank, size):
    for backend in ("hccl", "gloo"):
        work(rank, size, backend)
        dist.destroy_process_group()
"""
_DDP = """
class Partly(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net, self.unused = model(), torch.nn.Linear(4, 4)

    def forward(self, x):
        return self.net(x)

def work(rank, size, backend):
    from torch.nn.parallel import DistributedDataParallel as DDP
    start(rank, size, backend)
    device = f"npu:{rank}" if backend == "hccl" else "cpu"
    net = DDP(model().to(device), bucket_cap_mb=0.01)
    say(train(net, torch.optim.AdamW(net.parameters(), 1e-2), rank, device))
    net = DDP(Partly().to(device), find_unused_parameters=True)
    say(train(net, torch.optim.SGD(net.parameters(), 0.1), rank, device))
    from torch.distributed.optim import ZeroRedundancyOptimizer
    net = DDP(model().to(device))
    optimizer = ZeroRedundancyOptimizer(net.parameters(), torch.optim.AdamW, lr=1e-2)
    say(train(net, optimizer, rank, device))
"""
_SHARDED = """
def work(rank, size, backend):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    import torch.distributed.checkpoint as checkpoint
    start(rank, size, backend)
    kind = "npu" if backend == "hccl" else "cpu"
    device = f"npu:{rank}" if backend == "hccl" else "cpu"

    net = model().to(device)
    mesh = init_device_mesh(kind, (size,))
    for layer in net:
        fully_shard(layer, mesh=mesh)
    fully_shard(net, mesh=mesh)
    optimizer = torch.optim.AdamW(net.parameters(), 1e-2)
    say(train(net, optimizer, rank, device))
    state = {"model": net.state_dict()}
    checkpoint.save(state, checkpoint_id=f"{FOLDER}/checkpoint-{backend}")
    before = [parameter.full_tensor().clone() for parameter in net.parameters()]
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.zero_()
    state = {"model": net.state_dict()}
    checkpoint.load(state, checkpoint_id=f"{FOLDER}/checkpoint-{backend}")
    net.load_state_dict(state["model"])
    say(all(torch.equal(a, b.full_tensor()) for a, b in zip(before, net.parameters())))

    mesh = init_device_mesh(kind, (size // 2, 2), mesh_dim_names=("data", "model"))
    net = parallelize_module(model().to(device), mesh["model"], {"0": ColwiseParallel(), "2": RowwiseParallel()})
    say(train(net, torch.optim.SGD(net.parameters(), 0.1, foreach=False), 0, device))
"""


def _said(ranks: Ranks, size: int, source: str) -> list[list[Any]]:
    """What the ranks said. Between forks gloo sometimes never connects (both sides wait), so there are some tries."""
    patience = 50 * size  # eight ranks on two cores take their time
    for _ in range(3):
        outcome = ranks(size, source, check=False, limit=patience + 100, RANKS_LIMIT=str(patience))
        if not any(outcome.codes):
            return outcome.said
    pytest.fail(f"ranks ended with {outcome.codes}\n{outcome.stderr[-6000:]}")


@pytest.mark.parametrize("size", [2, pytest.param(8, marks=pytest.mark.slow)])
def test_data_parallel_losses_are_those_of_gloo(ranks: Ranks, size: int) -> None:
    for said in _said(ranks, size, _MODEL + _DDP):
        plain, unused, zero = said[:3]
        assert plain == pytest.approx(said[3], rel=1e-4)
        assert unused == pytest.approx(said[4], rel=1e-4)
        assert zero == pytest.approx(said[5], rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 8])
def test_sharded_and_tensor_parallel_losses_are_those_of_gloo(ranks: Ranks, size: int) -> None:
    for said in _said(ranks, size, _MODEL + _SHARDED):
        sharded, restored, tensor_parallel = said[:3]
        assert sharded == pytest.approx(said[3], rel=1e-4)
        assert restored is True
        assert tensor_parallel == pytest.approx(said[5], rel=1e-4)
