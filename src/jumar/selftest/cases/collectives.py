"""HCCL on all cards of the test: every collective with a result per rank, and data-parallel training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jumar.selftest.case import Case
from jumar.selftest.given import CPU

if TYPE_CHECKING:
    from jumar.selftest.given import Given

TYPES = ("float32", "float16", "int64")


def _all(g: Given, *shape: int) -> Any:
    """Values of all ranks: whole numbers, which every type sums exactly."""
    return g.whole(g.world, *shape, low=-8, high=8, dtype=g.torch.int64).to(g.dtype)


def _own(g: Given, *shape: int) -> Any:
    """Values of this rank."""
    return _all(g, *shape)[g.rank].clone()


def _reduced(name: str) -> Any:
    def run(g: Given) -> Any:
        if g.device == CPU:  # the reference has all values at hand
            whole = _all(g, 33)
            return whole.sum(0) if name == "SUM" else getattr(whole, f"a{name.lower()}")(0)
        x = _own(g, 33)
        g.torch.distributed.all_reduce(x, getattr(g.torch.distributed.ReduceOp, name))
        return x

    return run


def _gathered(g: Given) -> Any:
    if g.device == CPU:
        whole = _all(g, 5, 3)
        return {"list": whole, "tensor": whole.flatten(0, 1)}
    x = _own(g, 5, 3)
    parts = [g.torch.empty_like(x) for _ in range(g.world)]
    g.torch.distributed.all_gather(parts, x)
    whole = g.torch.empty((g.world * 5, 3), dtype=x.dtype, device=x.device)
    g.torch.distributed.all_gather_into_tensor(whole, x)
    return {"list": g.torch.stack(parts), "tensor": whole}


def _broadcast(g: Given) -> Any:
    if g.device == CPU:
        return _all(g, 17)[g.world - 1]
    x = _own(g, 17)
    g.torch.distributed.broadcast(x, src=g.world - 1)
    return x


def _scattered(g: Given) -> Any:
    if g.device == CPU:
        return _all(g, g.world * 5).sum(0)[g.rank * 5 : g.rank * 5 + 5]
    out = g.torch.empty(5, dtype=g.dtype, device=g.device)
    g.torch.distributed.reduce_scatter_tensor(out, _own(g, g.world * 5))
    return out


def _all_to_all(g: Given) -> Any:
    if g.device == CPU:
        return _all(g, g.world * 4)[:, g.rank * 4 : g.rank * 4 + 4].flatten()
    x = _own(g, g.world * 4)
    out = g.torch.empty_like(x)
    g.torch.distributed.all_to_all_single(out, x)
    return out


def _ring(g: Given) -> Any:
    """Each rank sends to the next one."""
    if g.device == CPU:
        return _all(g, 9)[(g.rank - 1) % g.world]
    x, out = _own(g, 9), g.torch.empty(9, dtype=g.dtype, device=g.device)
    dist = g.torch.distributed
    wishes = [dist.P2POp(dist.isend, x, (g.rank + 1) % g.world), dist.P2POp(dist.irecv, out, (g.rank - 1) % g.world)]
    for work in dist.batch_isend_irecv(wishes):
        work.wait()
    g.torch.npu.synchronize()
    return out


def _facts(g: Given) -> Any:
    dist = g.torch.distributed
    dist.barrier()
    objects: list[Any] = [None] * g.world
    dist.all_gather_object(objects, {"rank": g.rank})
    return {"backend": dist.get_backend(), "world": dist.get_world_size(), "rank": dist.get_rank(), "objects": objects}


def _training(g: Given) -> Any:
    torch = g.torch
    model = g.module(torch.nn.Sequential, torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(g.normal(*parameter.shape, scale=0.3))
    wrapped = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    inputs, targets = g.normal(g.world, 4, 8)[g.rank], g.normal(g.world, 4, 4)[g.rank]
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(wrapped(inputs), targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return {"losses": torch.stack(losses), "weight": model[2].weight.detach()}


def _wrong_size(g: Given) -> Any:
    x = g.torch.ones(4, device=g.device)
    g.torch.distributed.all_gather_into_tensor(g.torch.empty(3, device=g.device), x)


def _case(name: str, run: Any, **options: Any) -> Case:
    return Case(name, run, **{"cards": 2, "exact": True, "seconds": 120.0, **options})


CASES = [
    _case("facts", _facts, reference=False),
    _case("sum", _reduced("SUM"), types=TYPES),
    _case("max", _reduced("MAX"), types=TYPES),
    _case("min", _reduced("MIN"), types=TYPES),
    _case("all-gather", _gathered, types=TYPES),
    _case("broadcast", _broadcast, types=TYPES),
    _case("reduce-scatter", _scattered, types=TYPES),
    _case("all-to-all", _all_to_all, types=TYPES),
    _case("ring", _ring, types=("float32",)),
    _case("data-parallel", _training, types=("float32",), exact=False, reference=False),
    _case("wrong-size", _wrong_size, raises=True, reference=False),
]
