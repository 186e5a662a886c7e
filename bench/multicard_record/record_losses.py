"""Records the losses that `backward` is called on, and makes a part of a batch compute what the whole does."""

from __future__ import annotations

import atexit
import json
import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader

random.seed(0)
np.random.seed(0)
torch.manual_seed(0)
losses: list[torch.Tensor] = []
_backward = torch.Tensor.backward
_batch_norm = F.batch_norm
_make_loader = DataLoader.__init__
_make_dropout = torch.nn.modules.dropout._DropoutNd.__init__
_make_rnn = torch.nn.RNNBase.__init__


def backward(self: torch.Tensor, *args: Any, **kwargs: Any) -> None:
    if self.numel() == 1:
        losses.append(self.detach())
    _backward(self, *args, **kwargs)


def batch_norm(x: Any, mean: Any, var: Any, weight: Any = None, bias: Any = None, *rest: Any, **kwargs: Any) -> Any:
    return _batch_norm(x, mean, var, weight, bias, mean is None, 0.0, kwargs.get("eps", 1e-5))


def make_loader(self: Any, dataset: Any, batch_size: int | None = 1, *args: Any, **kwargs: Any) -> None:
    cards = os.environ.get("RECORD_DIVIDE")
    sampler = type(kwargs.get("sampler")).__name__
    if cards and batch_size and sampler in ("DistributedSampler", "PartOfSampler"):
        batch_size = max(1, batch_size // int(cards))
    kwargs["num_workers"] = 0
    for name in ("persistent_workers", "prefetch_factor", "multiprocessing_context"):
        kwargs.pop(name, None)
    _make_loader(self, dataset, batch_size, *args, **kwargs)


def make_dropout(self: Any, p: float = 0.5, inplace: bool = False) -> None:
    _make_dropout(self, 0.0, inplace)


def make_rnn(self: Any, *args: Any, **kwargs: Any) -> None:
    kwargs.pop("dropout", None)
    _make_rnn(self, *args, **kwargs)


def same_rows(shape: Any, low: float, high: float, like: Any = None) -> torch.Tensor:
    """Numbers that depend on the place within a sample only."""
    shape = tuple(shape)
    count = int(np.prod(shape[1:])) if len(shape) > 1 else 1
    row = torch.linspace(low, high, max(count, 2))[:count].reshape(shape[1:])
    rows = row.expand(shape).clone()
    return rows.to(like) if like is not None else rows


def _shape(args: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple(args[0]) if len(args) == 1 and not isinstance(args[0], int) else tuple(args)


def _on(device: Any, rows: torch.Tensor) -> torch.Tensor:
    return rows.to(device) if device is not None else rows


def same_noise() -> None:
    """Random numbers in a training step are the same for every sample of a batch; how layers start is untouched."""
    torch.randn = lambda *args, device=None, **kw: _on(device, same_rows(_shape(args), -1.5, 1.5))
    torch.rand = lambda *args, device=None, **kw: _on(device, same_rows(_shape(args), 0.05, 0.95))
    torch.randn_like = lambda x, **kw: same_rows(x.shape, -1.5, 1.5, x)
    torch.rand_like = lambda x, **kw: same_rows(x.shape, 0.05, 0.95, x)


def write() -> None:
    out = Path(os.environ["RECORD_LOSSES"], f"{os.environ['RANK']}.json")
    out.write_text(json.dumps([float(loss) for loss in losses]))


torch.Tensor.backward = backward  # type: ignore[method-assign,assignment]
F.batch_norm = batch_norm
DataLoader.__init__ = make_loader  # type: ignore[method-assign]
torch.nn.modules.dropout._DropoutNd.__init__ = make_dropout  # type: ignore[method-assign]
torch.nn.RNNBase.__init__ = make_rnn
for name in ("dropout", "dropout1d", "dropout2d", "dropout3d"):
    setattr(F, name, lambda x, *args, **kwargs: x)
if os.environ.get("RECORD_SAME_NOISE"):
    same_noise()
atexit.register(write)
