"""Whether torch_npu would compute an operator on the card, or hand its tensors to the CPU."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch

from jumar.tables.load import table

_COMPOSITE = ("CompositeExplicitAutograd", "CompositeImplicitAutograd")
_BY_OUT = "CompositeExplicitAutogradNonFunctional"
"""Operators that torch computes with their `out=` form, such as gelu: they run where that one has a kernel."""


@cache
def falls_back(func: Any) -> bool:
    """None of torch_npu's kernels, none of torch's that calls others, and none for its `out=` form."""
    full = func.name().partition("::")[2]
    if full not in _names("aten_cpu_without_npu_kernel"):
        return False
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    if any(has(func.name(), key) for key in _COMPOSITE):
        return False
    if not has(func.name(), _BY_OUT):
        return True
    base, _, overload = full.partition(".")
    plain = base.removesuffix("_")
    outs = (f"{overload}_out",) if overload else ("out", "grad_input", "output")
    return not any(f"{plain}.{name}" in _names("aten_native_on_npu") for name in outs)


@cache
def _names(key: str) -> frozenset[str]:
    return frozenset(table("torch_npu.json")[key])
