"""Six statistics and a linear sketch of a tensor, computed where the tensor lives, gathered in one block per step.

A count sketch: bucket i mod WIDTH gets sign(i) * x[i]. It is linear, so the difference of two sketches is the sketch of
the difference, and its length estimates the length of that: relative error and cosine of two tensors on two devices
without keeping either. The signs come from an integer hash on the host and are the same everywhere. Memory that the
host can read is gone over once by native code; elsewhere torch's own operators do it.
"""

from __future__ import annotations

from typing import Any, Union

import numpy as np
import torch

from jumar.compare import native
from jumar.compare.folding import WIDTH, signs
from jumar.compare.result import STATS

HEAD = len(STATS)
CHUNK = 1 << 16
"""Elements that are worked on at a time: they stay in the cache, and a sketch needs little memory."""
_NATIVE = (torch.float32, torch.float16, torch.bfloat16)
_BLOCK = 256
"""Rows that are added at a time."""
_ROW = 4 * (HEAD + WIDTH)
"""Bytes of a row."""


def sketcher(device: torch.device) -> Sketcher:
    """What takes the numbers of tensors on this device."""
    function = native.sketch() if native.reads(device) else None
    return DeviceSketcher(device) if function is None else HostSketcher(function)


class HostSketcher:
    """Reads the memory itself and writes the numbers into memory of NumPy."""

    def __init__(self, function: native.Sketch) -> None:
        self._function = function
        self._blocks: list[np.ndarray[Any, Any]] = []
        self._address = 0
        self._threads = torch.get_num_threads()
        self.rows = 0

    def add(self, tensor: torch.Tensor) -> int:
        """Row number of this tensor's numbers."""
        if self.rows % _BLOCK == 0:
            self._blocks.append(np.zeros((_BLOCK, HEAD + WIDTH), np.float32))
            self._address = self._blocks[-1].ctypes.data
            self._threads = torch.get_num_threads()
        at = self._address + self.rows % _BLOCK * _ROW
        self.rows += 1
        kind = native.KINDS.get(tensor.dtype)
        if kind is None or tensor.is_conj() or tensor.is_neg():
            tensor = _plain(tensor.detach()).to(torch.float32)
            kind = 0
        if not tensor.is_contiguous():
            tensor = tensor.detach().contiguous()
        count, data = tensor.numel(), tensor.data_ptr()
        if count and data:  # a tensor of known zeros has no memory
            self._function(data, kind, count, self._threads, at)
        return self.rows - 1

    def take(self) -> Any:
        """All rows; the next `add` begins anew."""
        used = np.concatenate(self._blocks)[: self.rows] if self.rows else np.zeros((0, HEAD + WIDTH), np.float32)
        self._blocks, self.rows = [], 0
        return used


class DeviceSketcher:
    """Numbers of the tensors of one step on one device; nothing reaches the host before `take`."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.signs = torch.from_numpy(signs(CHUNK, 1)).to(device)
        self._chunk_signs: dict[int, torch.Tensor] = {}
        self._work = torch.empty(CHUNK, dtype=torch.float32, device=device)
        self._blocks: list[torch.Tensor] = []
        self.rows = 0

    def add(self, tensor: torch.Tensor) -> int:
        """Row number of this tensor's numbers."""
        row = self._row()
        flat = _plain(tensor.detach()).reshape(-1)
        if flat.numel() == 0:
            return self.rows - 1
        if flat.dtype not in _NATIVE:
            flat = flat.to(torch.float32)
        self._statistics(flat, row)
        self._sketch(flat, row[HEAD:])
        return self.rows - 1

    def take(self) -> Any:
        """All rows on the host, in one transfer; the next `add` begins anew."""
        if not self.rows:
            return np.zeros((0, HEAD + WIDTH), np.float32)
        used = torch.cat(self._blocks)[: self.rows].cpu().numpy()
        self._blocks, self.rows = [], 0
        return used

    def _row(self) -> torch.Tensor:
        if self.rows % _BLOCK == 0:
            self._blocks.append(torch.zeros(_BLOCK, HEAD + WIDTH, dtype=torch.float32, device=self.device))
        self.rows += 1
        return self._blocks[-1][(self.rows - 1) % _BLOCK]

    def _statistics(self, flat: torch.Tensor, row: torch.Tensor) -> None:
        # A look at the values would make the device wait, so everything stays there and both are always counted.
        low, high = torch.aminmax(flat)
        total, norm = flat.sum(dtype=torch.float32), torch.linalg.vector_norm(flat, dtype=torch.float32)
        parts = (low, high, total, norm, flat.isnan().sum(), flat.isinf().sum())
        row[:HEAD] = torch.stack([part.to(torch.float32) for part in parts])

    def _sketch(self, flat: torch.Tensor, into: torch.Tensor) -> None:
        count = flat.numel()
        if count <= WIDTH:
            torch.mul(flat, self.signs[:count], out=into[:count])
            return
        for number, start in enumerate(range(0, count, CHUNK)):
            part = flat[start : start + CHUNK]
            size = part.numel()
            whole = size // WIDTH * WIDTH
            work = torch.mul(part, self.signs[:size], out=self._work[:size])
            turn = self._turn(number) if number else None
            if whole and turn is None:
                torch.sum(work[:whole].view(-1, WIDTH), 0, out=into)
            elif whole:
                into.addcmul_(work[:whole].view(-1, WIDTH).sum(0), turn)
            if whole < size:
                rest = work[whole:size]
                into[: size - whole] += rest if turn is None else rest * turn[: size - whole]

    def _turn(self, number: int) -> torch.Tensor:
        """Signs of the buckets of one chunk, so that equal chunks do not add up alike."""
        if number not in self._chunk_signs:
            self._chunk_signs[number] = torch.from_numpy(signs(WIDTH, number + 1)).to(self.device)
        return self._chunk_signs[number]


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor.resolve_neg()


Sketcher = Union[HostSketcher, DeviceSketcher]
