"""One call while it runs, and what its tensors are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

_DTYPES: dict[torch.dtype, str] = {}


class Call:
    """Inputs and arguments, before the operator may change them."""

    __slots__ = ("args", "has_shapes", "inputs", "phase", "shapes", "tensors")

    def __init__(self, phase: str) -> None:
        self.phase = phase
        self.args: dict[str, Any] = {}
        self.inputs: list[int] = []
        self.shapes: list[list[int] | None] = []
        """Where an input is a view of what its source made."""
        self.has_shapes = False
        self.tensors: list[torch.Tensor] = []


def tensors(value: Any) -> list[torch.Tensor]:
    """Those in a value, in order."""
    return list(_walk(value))


def _walk(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        if not value.is_nested:  # has no shape to note
            yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _walk(item)


def dtype(tensor: torch.Tensor) -> str:
    """Its name without `torch.`."""
    own = tensor.dtype
    name = _DTYPES.get(own)
    if name is None:
        name = _DTYPES[own] = str(own)[6:]
    return name


def copy(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().to("cpu", copy=True)
