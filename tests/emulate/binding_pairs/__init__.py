"""Operators that torch and MindSpore both have, called through both bindings: a family per file.

A case draws its arguments and yields the results of both sides, with the name of its mode:

    @pair("npu_swiglu", "aclnnSwiGlu")
    def swiglu(torch_side: Side, mindspore_side: Side) -> Results:
        yield "last axis", torch_side(x, -1), mindspore_side(x=x, axis=-1)

`pairs.toml` says which names mean the same operator, and why a pair has no case.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from jumar.emulate.mindspore_ops import registry as mindspore_ops
from jumar.emulate.torch_ops import registry as torch_ops

Side = Callable[..., tuple[Any, ...]]
Results = Iterator[tuple[str, Sequence[Any], Sequence[Any]]]
_CASES: dict[tuple[str, str], Callable[[Side, Side], Results]] = {}


def pair(torch_name: str, mindspore_name: str) -> Callable[[Callable[[Side, Side], Results]], Any]:
    """Declares the cases of a pair."""

    def declare(cases: Callable[[Side, Side], Results]) -> Callable[[Side, Side], Results]:
        _CASES[torch_name, mindspore_name] = cases
        return cases

    return declare


def declared() -> dict[tuple[str, str], Callable[[Side, Side], Results]]:
    """All pairs of all families."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return _CASES


def torch_side(name: str) -> Side:
    """The binding as torch's dispatcher calls it."""
    reference = torch_ops.find(name)
    assert reference is not None, name

    def call(*arguments: Any, **options: Any) -> tuple[Any, ...]:
        return tuple(_plain(one) for one in _many(reference.function(*arguments, **options)))

    return call


def mindspore_side(name: str) -> Side:
    """The binding as the bridge calls it: by the names of its row. It may ask for shapes and type of the outputs."""
    operator = mindspore_ops.find(name)

    def call(*, outputs: Sequence[Sequence[int]] = (), output_type: int = 0, **arguments: Any) -> tuple[Any, ...]:
        kind = {"type": output_type, "dtype": np.dtype(np.float32)}
        rooms = [SimpleNamespace(shape=tuple(shape), **kind) for shape in outputs]
        with np.errstate(all="ignore"):
            return _many(operator({name: _plain(one) for name, one in arguments.items()}, rooms))

    return call


def drawn(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed + sum(shape)))


def _plain(value: Any) -> Any:
    return value.detach().numpy() if isinstance(value, Tensor) else value


def _many(results: Any) -> tuple[Any, ...]:
    return tuple(results) if isinstance(results, (tuple, list)) else (results,)
