"""Which entry of the record a tensor came from, by the storage it lives in."""

from __future__ import annotations

import torch
from torch.multiprocessing.reductions import StorageWeakRef


class Origins:
    """Storage to entry. A weak reference keeps the address of a storage from being given to another one."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[StorageWeakRef, int, int]] = {}

    def get(self, tensor: torch.Tensor) -> int:
        """The entry that wrote this storage last; -1 if it came from outside, or is sparse and has none."""
        if tensor.layout is not torch.strided:
            return -1
        found = self._known.get(tensor.untyped_storage()._cdata)
        return found[1] if found is not None else -1

    def output(self, tensor: torch.Tensor) -> int:
        """Which output of that entry it was."""
        return self._known[tensor.untyped_storage()._cdata][2]

    def put(self, tensor: torch.Tensor, entry: int, output: int = 0) -> None:
        if tensor.layout is not torch.strided:
            return
        storage = tensor.untyped_storage()
        self._known[storage._cdata] = (StorageWeakRef(storage), entry, output)
