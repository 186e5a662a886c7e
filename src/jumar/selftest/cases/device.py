"""The card as a program sees it: name, memory, streams, events, generators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jumar.selftest.case import Case

if TYPE_CHECKING:
    from jumar.selftest.given import Given

BLOCK = 512
"""The allocator of torch_npu rounds sizes to this many bytes."""


def _names(g: Given) -> Any:
    place = int(g.device.rpartition(":")[2])
    return {"name": g.torch.npu.get_device_name(place), "bfloat16": g.npu.npu.is_bf16_supported(),
            "cards": g.torch.npu.device_count()}  # fmt: skip


def _memory(g: Given) -> Any:
    npu = g.torch.npu
    npu.synchronize()
    before = npu.memory_allocated()
    kept = g.torch.empty(1 << 20, dtype=g.torch.uint8, device=g.device)
    during = npu.memory_allocated()
    del kept
    return {"allocated": during - before, "freed": npu.memory_allocated() == before,
            "reserved-covers": npu.memory_reserved() >= npu.memory_allocated(),
            "peak-covers": npu.max_memory_allocated() >= during}  # fmt: skip


def _size(g: Given) -> Any:
    free, total = g.torch.npu.mem_get_info()
    place = int(g.device.rpartition(":")[2])
    return {"free-below-total": 0 < free <= total, "gib": round(total / (1 << 30)),
            "properties-agree": abs(_total(g, place) - total) < total / 8}  # fmt: skip


def _total(g: Given, place: int) -> int:
    return int(g.torch.npu.get_device_properties(place).total_memory)


def _streams(g: Given) -> Any:
    npu, x = g.torch.npu, g.normal(64, 64)
    side, done = npu.Stream(), npu.Event()
    side.wait_stream(npu.current_stream())
    with npu.stream(side):
        y = x @ x
        done.record()
    npu.current_stream().wait_event(done)
    z = y + 1
    npu.synchronize()
    return {"out": z, "query": done.query()}


def _events(g: Given) -> Any:
    npu = g.torch.npu
    first, last = npu.Event(enable_timing=True), npu.Event(enable_timing=True)
    first.record()
    g.normal(64, 64) @ g.normal(64, 64)
    last.record()
    last.synchronize()
    return {"time-passes": first.elapsed_time(last) >= 0}


def _generator(g: Given) -> Any:
    """The numbers of a card are its own; what must hold is that a seed and a state give them again."""
    torch = g.torch
    torch.npu.manual_seed(7)
    state = torch.npu.get_rng_state()
    first = torch.rand(4096, device=g.device)
    second = torch.rand(4096, device=g.device)
    torch.npu.set_rng_state(state)
    again = torch.rand(4096, device=g.device)
    normal, drop = (
        torch.randn(4096, device=g.device),
        torch.nn.functional.dropout(torch.ones(8192, device=g.device), 0.25),
    )
    whole = torch.randint(0, 10, (4096,), device=g.device)
    return {
        "again": bool((first == again).all()), "goes-on": bool((first != second).any()),
        "mean": abs(float(first.mean()) - 0.5) < 0.03, "spread": abs(float(normal.std()) - 1) < 0.06,
        "within": bool(((first >= 0) & (first < 1)).all()), "kept": abs(float((drop > 0).float().mean()) - 0.75) < 0.03,
        "scaled": sorted({round(value, 4) for value in drop.unique().tolist()}), "dtype": str(normal.dtype),
        "digits": sorted(whole.unique().tolist()),
    }  # fmt: skip


def _pinned(g: Given) -> Any:
    host = g.torch.arange(1000.0).pin_memory()
    card = host.to(g.device, non_blocking=True)
    g.torch.npu.synchronize()
    return {"pinned": host.is_pinned(), "copy": card}


CASES = [Case(name, run, reference=False, must=name != "names") for name, run in {
    "names": _names, "memory": _memory, "memory-size": _size, "streams": _streams, "events": _events,
    "generator": _generator, "pinned": _pinned,
}.items()]  # fmt: skip
