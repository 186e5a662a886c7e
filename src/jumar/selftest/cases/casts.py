"""Copies between data types and devices: what is lost, how halves are rounded, which types come out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jumar.selftest.case import HALVES, rows

if TYPE_CHECKING:
    from jumar.selftest.given import Given

_ENDS = (0.0, -0.0, 1.0, 65504.0, 65519.0, 65520.0, 1e30, -1e30, 6e-5, 6e-8, 1e-30, 3e38, 2049.0, 2051.0, 1.00048828125)
"""Around the ends of float16 and its ties."""


def _to(name: str) -> Any:
    return lambda g: g.normal(400, scale=3).to(getattr(g.torch, name))


def _ends(name: str) -> Any:
    return lambda g: g.values(_ENDS, g.torch.float32).to(getattr(g.torch, name))


def _promoted(g: Given) -> dict[str, Any]:
    """The type that two operands give."""
    whole, real = g.whole(4, dtype=g.torch.int32), g.normal(4)
    return {
        "whole-and-real": whole + real, "whole-and-number": whole * 1.5, "whole-over-whole": whole / whole.abs().add(1),
        "truth-and-whole": g.chance(4) + whole, "short-and-whole": whole.to(g.torch.int16) + whole,
        "mean": real.mean(), "sum-of-truth": g.chance(9).sum(), "argmax": real.argmax(),
    }  # fmt: skip


CASES = [
    *rows(
        {
            "to-float16": _to("float16"), "to-bfloat16": _to("bfloat16"), "to-float32": _to("float32"),
            "to-int32": _to("int32"), "to-int64": _to("int64"), "to-int8": _to("int8"), "to-bool": _to("bool"),
        },
        types=HALVES, exact=True,
    ),
    *rows({"ends-float16": _ends("float16"), "ends-bfloat16": _ends("bfloat16")}, exact=True, reference=False),
    *rows(
        {
            "there-and-back": lambda g: g.normal(50, 7).cpu().to(g.device),
            "copy-across-types": lambda g: g.torch.empty(40, device=g.device).copy_(g.normal(40)),
            "copy-of-a-view": lambda g: g.normal(20, 30).t()[::2].clone(),
            "promoted": _promoted,
        },
        types=HALVES, reference=False, exact=True,
    ),
]  # fmt: skip
