"""What the installation guides ask for first: cards are there, and a sum on one of them is right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jumar.selftest.case import Case

if TYPE_CHECKING:
    from jumar.selftest.given import Given


def _first(g: Given) -> Any:
    a = g.normal(3, 4)
    return {
        "available": g.torch.npu.is_available(), "cards": g.torch.npu.device_count() > 0,
        "current": g.torch.npu.current_device() == int(g.device.rpartition(":")[2]), "device": (a + a).device.type,
        "sum": a + a,
    }  # fmt: skip


def _moved(g: Given) -> Any:
    a = g.normal(3, 4)
    layer = g.module(g.torch.nn.Linear, 4, 2)
    return {"out": layer(a.cpu().npu()).detach(), "parameters": sorted({p.device.type for p in layer.parameters()})}


CASES = [Case("first-sum", _first, reference=False), Case("moved-layer", _moved, reference=False)]
