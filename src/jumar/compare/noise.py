"""Changes a run on purpose: rounding-size noise for the floor, or operands rounded as a device would round them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from jumar.compare.precision import is_product, short

_MOVES = ("copy_", "_to_copy", "clone", "cat", "stack", "index_select", "embedding", "gather", "where", "masked_fill",
          "fill", "zero", "ones", "full", "arange", "scalar_tensor", "empty", "native_dropout", "dropout", "bernoulli",
          "rand", "normal_", "uniform_", "tril", "triu", "constant_pad_nd", "slice_backward", "select_backward",
          "embedding_dense_backward", "max_pool", "repeat", "roll", "flip", "index", "neg", "relu", "threshold", "abs",
          "maximum", "minimum", "max", "min", "amax", "amin", "sort", "topk", "clamp", "resize_", "set_", "isnan",
          "_foreach_copy", "nan_to_num", "sign", "reflection_pad", "replication_pad")  # fmt: skip
"""Operators that only move values: no rounding happens in them."""


class Noise:
    """Multiplies what operators compute, and the operands of products, by 1 + u * r with r uniform in -1 … 1."""

    def __init__(self, unit: float, seed: int) -> None:
        self._unit = unit
        self._seed = seed
        self._generators: dict[torch.device, torch.Generator] = {}
        self._kinds: dict[Any, int] = {}

    def __call__(self, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        kind = self._kinds.get(func)
        if kind is None:
            name = str(func)
            kind = 2 if is_product(name) else 0 if _moves(short(name)) else 1
            self._kinds[func] = kind
        if kind == 2:
            args = [self._noisy(value) for value in args]
        done = func(*args, **kwargs)
        if kind:
            for value in done if isinstance(done, (tuple, list)) else (done,):
                if changeable(value) and not _is_whole(value):
                    value.mul_(self._factor(value))
        return done

    def _noisy(self, value: Any) -> Any:
        return value * self._factor(value) if changeable(value) else value

    def _factor(self, value: torch.Tensor) -> torch.Tensor:
        generator = self._generators.get(value.device)
        if generator is None:
            generator = torch.Generator(value.device).manual_seed(self._seed)
            self._generators[value.device] = generator
        noise = torch.empty(value.shape, dtype=torch.float32, device=value.device)
        noise.uniform_(1 - self._unit, 1 + self._unit, generator=generator)
        noise.masked_fill_(value.abs() > torch.finfo(value.dtype).max / 2, 1.0)  # a mask must not become infinite
        return noise.to(value.dtype)


class Rounded:
    """Rounds the operands of products to fewer bits and sums in float32, as a matrix unit does."""

    def __init__(self, dtype: str) -> None:
        self._dtype = dtype

    def __call__(self, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if is_product(str(func)):
            args = [self._round(value) for value in args]
        return func(*args, **kwargs)

    def _round(self, value: Any) -> Any:
        if not changeable(value) or value.dtype is not torch.float32:
            return value
        if self._dtype == "hf32":
            return keep_bits(value, 11)
        return value.to(getattr(torch, self._dtype)).to(torch.float32)


def keep_bits(value: torch.Tensor, bits: int) -> torch.Tensor:
    """float32 with so many bits of mantissa: to nearest, ties away from zero."""
    drop = 23 - bits
    whole = value.contiguous().view(torch.int32)
    rounded = (whole + (1 << (drop - 1))) & ~((1 << drop) - 1)
    return torch.where(value.isfinite(), rounded.view(torch.float32), value)


def _moves(name: str) -> bool:
    plain = name.removesuffix("_").removeprefix("new_")
    return any(plain == move.removesuffix("_") or (name.startswith(move) and len(move) > 5) for move in _MOVES)


def _is_whole(value: torch.Tensor) -> bool:
    """Counts and places that are kept as real numbers: no device rounds them, and a program makes indices of them."""
    return bool((value == value.round()).all())


def changeable(value: Any) -> bool:
    """Whether it is a tensor of real numbers."""
    return isinstance(value, torch.Tensor) and value.is_floating_point() and value.numel() > 0
