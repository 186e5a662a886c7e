"""Loads, stores and atomics of kernels: the device memory of the emulated card is memory of this process.

A pointer outside of every tensor of the launch is looked up among the mappings of the process. What a card answers with
an error of its memory engine is an error here too, with the name of the nearest tensor.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np


class OutOfBounds(Exception):
    """A kernel touched memory that no tensor has."""


class Region:
    """Bytes that kernels may touch."""

    def __init__(self, name: str, start: int, size: int) -> None:
        self.name, self.start, self.end = name, start, start + size
        self._views: dict[Any, Any] = {}

    def view(self, dtype: Any) -> Any:
        if dtype not in self._views:
            count = (self.end - self.start) // dtype.itemsize
            buffer = (ctypes.c_char * (count * dtype.itemsize)).from_address(self.start)
            self._views[dtype] = np.frombuffer(buffer, dtype=dtype)
        return self._views[dtype]

    def place(self, pointers: Any, dtype: Any) -> Any:
        """Where pointers are in the view; those outside, which a mask hides, are anywhere."""
        offsets = pointers - np.uint64(self.start)
        offsets >>= np.uint64(dtype.itemsize.bit_length() - 1)
        return offsets.view(np.int64)


class Memory:
    """What the tensors of one launch hold."""

    def __init__(self, regions: list[Region], kernel: str) -> None:
        self.regions = sorted(regions, key=lambda region: region.start)
        self.kernel = kernel
        self.checked = True
        """Whether every pointer comes from a tensor of the launch: kernels may read addresses from tensors."""
        self.strays: dict[str, str] = {}

    def load(self, pointers: Any, mask: Any, other: Any, dtype: Any) -> Any:
        shape = np.broadcast_shapes(pointers.shape, *(() if mask is None else (mask.shape,)))
        found = np.zeros(shape, dtype) if other is None else np.array(np.broadcast_to(other, shape), dtype)
        for region, part in self._places(pointers, mask, dtype, "reads"):
            view = _aligned(region, pointers, dtype)
            taken = view.take(region.place(pointers, dtype), mode="clip")
            if part is None:
                return np.array(np.broadcast_to(taken, shape))
            np.copyto(found, taken, where=part)
        return found

    def store(self, pointers: Any, values: Any, mask: Any, dtype: Any) -> None:
        shape = np.broadcast_shapes(pointers.shape, values.shape, *(() if mask is None else (mask.shape,)))
        for region, part in self._places(pointers, mask, dtype, "writes"):
            view = _aligned(region, pointers, dtype)
            places, numbers = np.broadcast_to(region.place(pointers, dtype), shape), np.broadcast_to(values, shape)
            if part is None:
                view[places] = numbers
            else:
                part = np.broadcast_to(part, shape)
                view[places[part]] = numbers[part]

    def _places(self, pointers: Any, mask: Any, dtype: Any, verb: str) -> Iterator[tuple[Region, Any]]:
        """The regions that hold the active pointers, each with the mask of its own; None stands for all."""
        if pointers.size == 0 or (mask is not None and not mask.any()):
            return
        low, high = int(pointers.min()), int(pointers.max()) + dtype.itemsize
        region = self._region(low)
        if region is not None and high <= region.end:
            yield region, mask
            return
        shape = np.broadcast_shapes(pointers.shape, *(() if mask is None else (mask.shape,)))
        everywhere = np.broadcast_to(pointers, shape)
        rest = np.ones(shape, bool) if mask is None else np.array(np.broadcast_to(mask, shape))
        while rest.any():
            low = int(everywhere[rest].min())
            region = self._region(low)
            if region is None or low + dtype.itemsize > region.end:
                region = self._stray(low, dtype, verb)
            here = rest & (everywhere >= np.uint64(region.start))
            here &= everywhere <= np.uint64(region.end - dtype.itemsize)
            yield region, here
            rest &= ~here

    def _region(self, address: int) -> Region | None:
        return next((one for one in self.regions if one.start <= address < one.end), None)

    def _stray(self, address: int, dtype: Any, verb: str) -> Region:
        """A pointer outside of the launch's tensors: memory of another tensor, or of none."""
        mapping = next((one for one in _mappings() if one.start <= address <= one.end - dtype.itemsize), None)
        where = self._nearest(address)
        if mapping is None:
            raise OutOfBounds(f"`{self.kernel}` {verb} at {address:#x}, which no tensor holds: {where}")
        if self.checked:
            self.strays.setdefault(verb, where)
        ends = [one.start for one in self.regions if one.start > address]
        return Region("", address, min([mapping.end, *ends]) - address)

    def _nearest(self, address: int) -> str:
        if not self.regions:
            return "the launch has no tensors"
        near = min(self.regions, key=lambda one: max(one.start - address, address - one.end))
        if address < near.start:
            return f"{near.start - address:,} bytes before `{near.name}`"
        return f"{address - near.end:,} bytes behind the end of `{near.name}`"


def _aligned(region: Region, pointers: Any, dtype: Any) -> Any:
    """The region as numbers of a type; pointers that lie between two numbers need a view that begins elsewhere."""
    shift = (int(pointers.flat[0]) - region.start) % dtype.itemsize
    if shift:
        return Region(region.name, region.start + shift, region.end - region.start - shift).view(dtype)
    return region.view(dtype)


def _mappings() -> list[Region]:
    """What this process can read and write."""
    found = []
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
        for line in file:
            span, rights = line.split()[:2]
            if rights.startswith("rw"):
                start, end = (int(side, 16) for side in span.split("-"))
                found.append(Region("", start, end - start))
    return found
