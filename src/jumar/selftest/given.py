"""What a case gets: a device, a data type, and inputs that are the same on every machine.

Inputs are drawn on the CPU in float64 from the seed of the case and then rounded, so the card, the emulator and the
reference start from the same numbers. With `noise`, each input is moved by a rounding: how far the results move is the
floor of the operator (after TTrace, arXiv 2506.09280, as in `jumar compare`).
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

CPU = "cpu"


class Given:
    """The inputs of one run of a case."""

    def __init__(self, name: str, dtype: str, device: str, *, wide: bool = False, noise: float = 0.0, draw: int = 0,
                 folder: str = "", rank: int = 0, world: int = 1) -> None:  # fmt: skip
        import torch

        self.torch: Any = torch
        self.device = device
        self.rank, self.world = rank, world
        self.folder = folder
        """Scratch space that is removed afterwards."""
        self._wide, self._noise = wide, noise
        self._source = torch.Generator().manual_seed(zlib.crc32(name.encode()))
        self._moves = torch.Generator().manual_seed(draw + 1)
        self.own: Any = getattr(torch, dtype or "float32")
        """The data type of the case; `dtype` of the reference is wider."""
        self.dtype: Any = self._type(self.own)

    @property
    def npu(self) -> Any:
        """The module torch_npu."""
        import torch_npu

        return torch_npu

    def normal(self, *shape: int, scale: float = 1.0, dtype: Any = None) -> Any:
        """Values around 0, rounded to the type of the case or another one."""
        return self._put(self.torch.randn(shape, dtype=self.torch.float64, generator=self._source) * scale, dtype)

    def uniform(self, *shape: int, low: float = 0.0, high: float = 1.0, dtype: Any = None) -> Any:
        drawn = self.torch.rand(shape, dtype=self.torch.float64, generator=self._source)
        return self._put(low + (high - low) * drawn, dtype)

    def whole(self, *shape: int, low: int = -50, high: int = 50, dtype: Any = None) -> Any:
        """Integers from `low` to below `high`."""
        drawn = self.torch.randint(low, high, shape, generator=self._source)
        kind = dtype or (self.dtype if not self.dtype.is_floating_point else self.torch.int64)
        return drawn.to(kind).to(self.device)

    def distinct(self, rows: int, columns: int) -> Any:
        """No value twice in a row, in any type: how equal ones are ordered is not defined."""
        places = self.torch.rand((rows, columns), generator=self._source).argsort(1)
        return ((places - columns // 2) / 8).to(self.dtype).to(self.device)

    def chance(self, *shape: int) -> Any:
        """True and False."""
        return (self.torch.rand(shape, generator=self._source) < 0.5).to(self.device)

    def values(self, numbers: Sequence[Any], dtype: Any = None) -> Any:
        """Exactly these."""
        return self.torch.tensor(numbers, dtype=self._type(dtype or self.dtype)).to(self.device)

    def module(self, kind: Any, *args: Any, **options: Any) -> Any:
        """A torch.nn.Module with its own initial values, drawn here, on the device."""
        self.torch.manual_seed(int(self.torch.randint(1 << 30, (1,), generator=self._source)))
        made = kind(*args, **options)
        with self.torch.no_grad():
            for parameter in made.parameters():
                parameter.copy_(self._moved(parameter.double()).to(parameter.dtype))
        return made.to(self.dtype).to(self.device)

    def learnt(self, *shape: int, scale: float = 1.0) -> Any:
        """`normal`, with a gradient."""
        return self.normal(*shape, scale=scale).requires_grad_()

    def _put(self, drawn: Any, dtype: Any) -> Any:
        kind = dtype or self.own
        if not kind.is_floating_point:
            return drawn.to(kind).to(self.device)
        exact = drawn.to(kind).double()
        return self._moved(exact).to(self._type(kind)).to(self.device)

    def _moved(self, exact: Any) -> Any:
        if not self._noise:
            return exact
        by = 2 * self.torch.rand(exact.shape, dtype=self.torch.float64, generator=self._moves) - 1
        return exact * (1 + self._noise * by)

    def _type(self, dtype: Any) -> Any:
        return self.torch.float64 if self._wide and dtype.is_floating_point else dtype
