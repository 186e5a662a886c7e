"""One row of the record of operators, a plain value."""

from __future__ import annotations

from typing import NamedTuple


class Operator(NamedTuple):
    name: str
    """As the dispatcher calls it: `aten::add.Tensor`."""
    dtypes: str
    """Types of its tensors on the card, separated by commas."""
    how: str
    """`native`, `npu-only`, `torch_npu` (its own code, such as views), `fallback` (to the CPU) or `refused`."""
    calls: int
    failed: int
    """How many of the calls raised."""
    site: str
    """File and line of the first call; that of `backward()` for operators of the backward pass."""


FIELDS = Operator._fields
