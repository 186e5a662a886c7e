"""What the models of `perf` and `parallel` assume, measured: products, vector work, memory, launches, copies, links.

Each figure is the best of several tries; the spread is kept. The cards of the test are also timed one after the other.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from jumar.selftest.case import Case

if TYPE_CHECKING:
    from jumar.selftest.given import Given

TRIES = 7
BUDGET = 1.0
"""Seconds that the tries of one figure may take together, after the first."""
_FOR_EVER = 1e9


def _best(g: Given, work: Callable[[], Any], device: int | None = None, budget: float = BUDGET) -> tuple[float, float]:
    """Seconds of the quickest try, and how much the median is above it. Ranks that work together need equal tries."""
    wait = g.torch.npu.synchronize if device is None else (lambda: g.torch.npu.synchronize(device))
    for _ in range(2):
        work()
    wait()
    found: list[float] = []
    until = time.perf_counter() + budget
    while len(found) < 3 or (len(found) < TRIES and time.perf_counter() < until):
        begun = time.perf_counter()
        work()
        wait()
        found.append(time.perf_counter() - begun)
    found.sort()
    return found[0], found[len(found) // 2] / found[0] - 1


def _figure(value: float, unit: str, spread: float) -> dict[str, Any]:
    return {"value": float(f"{value:.5g}"), "unit": unit, "spread": round(spread, 3)}


def _large(g: Given) -> bool:
    """A real card is measured with sizes that fill it; an emulated one would take minutes."""
    from jumar.runtime import standins

    return not standins.are_used()


def _products(g: Given) -> Any:
    size = 8192 if _large(g) else 192
    found = {}
    for dtype in ("float16", "bfloat16", "float32"):
        kind = getattr(g.torch, dtype)
        try:
            a = g.torch.ones(size, size, dtype=kind, device=g.device)
            seconds, spread = _best(g, partial(g.torch.matmul, a, a))
        except RuntimeError:  # a chip without bfloat16
            continue
        found[f"matmul_{dtype}"] = _figure(2 * size**3 / seconds / 1e12, "TFLOPS", spread)
    return found


def _memory(g: Given) -> Any:
    count = 1 << (28 if _large(g) else 18)
    a, b = (g.torch.ones(count, dtype=g.torch.float16, device=g.device) for _ in range(2))
    out = g.torch.empty_like(a)
    add, add_spread = _best(g, lambda: g.torch.add(a, b, out=out))
    copy, copy_spread = _best(g, lambda: out.copy_(a))
    wide = a[: count // 2].float()
    exp, exp_spread = _best(g, lambda: wide.exp())
    return {
        "vector": _figure(3 * 2 * count / add / 1e9, "GB/s", add_spread),
        "memory": _figure(2 * 2 * count / copy / 1e9, "GB/s", copy_spread),
        "vector_float32": _figure(2 * 4 * (count // 2) / exp / 1e9, "GB/s", exp_spread),
    }


def _launches(g: Given) -> Any:
    x, many = g.torch.ones(16, device=g.device), 200 if _large(g) else 50

    def work() -> None:
        for _ in range(many):
            x.add_(1)

    seconds, spread = _best(g, work)
    single, single_spread = _best(g, lambda: x.add_(1))
    return {"launch": _figure(seconds / many * 1e6, "us", spread), "answer": _figure(single * 1e6, "us", single_spread)}


def _copies(g: Given) -> Any:
    count = 1 << (28 if _large(g) else 18)
    host = g.torch.ones(count, dtype=g.torch.uint8).pin_memory()
    card = host.to(g.device)
    there, spread = _best(g, lambda: card.copy_(host, non_blocking=True))
    back, back_spread = _best(g, lambda: host.copy_(card, non_blocking=True))
    return {"host_to_card": _figure(count / there / 1e9, "GB/s", spread),
            "card_to_host": _figure(count / back / 1e9, "GB/s", back_spread)}  # fmt: skip


def _cards(g: Given) -> Any:
    """The same work on each card, in turns, so that a busy host slows all of them."""
    size = 4096 if _large(g) else 160
    found: dict[str, Any] = {}
    for card in list(range(g.torch.npu.device_count())) * 2:
        g.torch.npu.set_device(card)
        a = g.torch.ones(size, size, dtype=g.torch.float16, device=f"npu:{card}")

        def work(a: Any = a) -> None:
            for _ in range(4):
                a @ a + a

        seconds, spread = _best(g, work, card)
        before = found.get(f"on_card_{card}")
        figure = _figure(seconds * 1e3, "ms", spread)
        found[f"on_card_{card}"] = figure if before is None or figure["value"] < before["value"] else before
    g.torch.npu.set_device(int(g.device.rpartition(":")[2]))
    return found


def _links(g: Given) -> Any:
    """Bus bandwidth of a ring: every byte goes out nearly twice."""
    count = 1 << (26 if _large(g) else 16)
    x, small = g.torch.ones(count, device=g.device), g.torch.ones(4, device=g.device)
    seconds, spread = _best(g, lambda: g.torch.distributed.all_reduce(x), budget=_FOR_EVER)
    short, short_spread = _best(g, lambda: g.torch.distributed.all_reduce(small), budget=_FOR_EVER)
    moved = 2 * (g.world - 1) / g.world * 4 * count
    return {"link": _figure(moved / seconds / 1e9, "GB/s", spread),
            "collective": _figure(short * 1e6, "us", short_spread)}  # fmt: skip


def _case(name: str, run: Any, **options: Any) -> Case:
    return Case(name, run, reference=False, timed=True, seconds=120.0, memory_mib=8192, **options)


CASES = [
    _case("products", _products), _case("memory", _memory), _case("launches", _launches), _case("copies", _copies),
    _case("cards", _cards), _case("links", _links, cards=2),
]  # fmt: skip
