"""Calls that must fail, each with the same error: shapes, types, devices and sizes that nothing accepts."""

from __future__ import annotations

from jumar.selftest.case import rows

CASES = rows(
    {
        "shapes-of-a-sum": lambda g: g.normal(3, 4) + g.normal(5),
        "shapes-of-a-product": lambda g: g.normal(3, 4) @ g.normal(5, 6),
        "shapes-of-a-join": lambda g: g.torch.cat([g.normal(3, 4), g.normal(3, 5)], 0),
        "two-devices": lambda g: g.normal(3) + g.torch.ones(3),
        "product-of-two-devices": lambda g: g.normal(3, 3) @ g.torch.ones(3, 3),
        "no-such-axis": lambda g: g.normal(3, 4).sum(5),
        "no-such-view": lambda g: g.normal(3, 4).view(5, 5),
        "no-such-card": lambda g: g.torch.zeros(1, device="npu:63"),
        "too-large": lambda g: g.torch.empty(1 << 50, dtype=g.torch.uint8, device=g.device),
        "whole-numbers-learn-nothing": lambda g: g.whole(3).requires_grad_(),
        "channels-last": lambda g: g.normal(1, 2, 4, 4).to(memory_format=g.torch.channels_last),
        "numpy-of-a-card": lambda g: g.normal(3).numpy(),
        "topk-too-many": lambda g: g.normal(3).topk(9),
        "item-of-many": lambda g: g.normal(3).item(),
    },
    reference=False,
    raises=True,
)
