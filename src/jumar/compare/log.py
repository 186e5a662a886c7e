"""What was noted of one step: entries, numbers, and which entry a tensor came from. `fast/log.py` does it in C++."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from jumar.compare.call import dtype
from jumar.compare.folding import WIDTH
from jumar.compare.naming import Lines, Modules
from jumar.compare.origin import Origins
from jumar.compare.sketch import HEAD, Sketcher, sketcher
from jumar.core.compat import zip

_node = torch._C._current_autograd_node


class Log:
    """Collects until `take`."""

    def __init__(self, modules: Modules, lines: Lines) -> None:
        self.devices: set[str] = set()
        self.dtypes: set[str] = set()
        self._modules = modules
        self._lines = lines
        self._thread = threading.get_ident()
        self._sketchers: dict[torch.device, Sketcher] = {}
        self._last: dict[int, tuple[int, int]] = {}
        self._carried: dict[int, tuple[int, np.ndarray[Any, Any]]] = {}
        self._begin()

    def _begin(self) -> None:
        self._entries: list[dict[str, Any]] = []
        self._rows: list[tuple[torch.device | None, int]] = []
        """Where the numbers are: row of a device, or a weight whose numbers the step before has left."""
        self._origins = Origins()
        self._by_node: dict[int, int] = {}
        self._last_node = -1
        self._has_gradients = False

    def __len__(self) -> int:
        return len(self._entries)

    def take(self) -> tuple[bytes, np.ndarray[Any, Any]]:
        """The entries, as a list in JSON, and the numbers since the last call."""
        taken = {device: taker.take() for device, taker in self._sketchers.items()}
        numbers: np.ndarray[Any, Any] = np.zeros((len(self._rows), HEAD + WIDTH), np.float32)
        for place, (device, row) in enumerate(self._rows):
            numbers[place] = taken[device][row] if device is not None else self._carried[row][1]
        self._carried = {key: (version, numbers[row]) for key, (version, row) in self._last.items() if row >= 0}
        self._last = {}
        text = json.dumps(self._entries, separators=(",", ":")).encode()
        self._begin()
        return text, numbers

    def phase(self) -> str:
        """What handles gradients after them, such as clipping, belongs to the backward pass."""
        if _node() is not None:
            self._has_gradients = True
            return "backward"
        return "backward" if self._has_gradients and not torch.is_grad_enabled() else "forward"

    def origin(self, tensor: torch.Tensor) -> int:
        """The entry that wrote its memory last; -1 if it came from outside."""
        return self._origins.get(tensor)

    def put(self, tensor: torch.Tensor, entry: int, output: int = 0) -> None:
        self._origins.put(tensor, entry, output)

    def fits(self, entry: int, tensor: torch.Tensor) -> bool:
        """Whether the first output of an entry has the shape of this tensor."""
        outs = self._entries[entry]["outs"]
        return bool(outs) and outs[0][1] == list(tensor.shape)

    def append(self, entry: dict[str, Any], outs: Sequence[torch.Tensor], rows: Sequence[int], placed: bool) -> int:
        """Add an entry with these outputs; with `placed`, at the module and line that run now."""
        entry["outs"] = [[dtype(out), list(out.shape), row] for out, row in zip(outs, rows, strict=True)]
        if placed:
            self._place(entry)
        self._entries.append(entry)
        return len(self._entries) - 1

    def source(self, tensor: torch.Tensor, phase: str, measured: bool = True) -> int:
        """A new entry for a tensor that no operator made."""
        kind, name = self._modules.tensors.get(id(tensor), ("", ""))
        if not kind and tensor._base is not None:
            kind, name = self._modules.tensors.get(id(tensor._base), ("", ""))
            tensor = tensor._base if kind else tensor
        path = self._modules.path
        entry = {
            "kind": kind or "input",
            "name": name or f"{path or 'input'} {dtype(tensor)}{list(tensor.shape)}",
            "phase": phase,
            "mod": path,
            "at": "" if kind else self._lines.here(),
        }
        row = -1 if not measured else self._carry(tensor) if kind == "weight" else self.row(tensor)
        index = self.append(entry, [tensor], [row], False)
        self._origins.put(tensor, index)
        return index

    def look(self, kind: str, name: str, tensor: torch.Tensor, phase: str) -> None:
        """Note a tensor that is no operator's output: a gradient or the state of an optimizer."""
        origin = self._origins.get(tensor)
        known = self._entries[origin]["outs"][self._origins.output(tensor)] if origin >= 0 and kind == "grad" else None
        is_known = known is not None and known[1] == list(tensor.shape) and known[2] >= 0
        row = known[2] if known is not None and is_known else self.row(tensor)
        if kind == "state":
            self._last[id(tensor)] = (tensor._version, row)
        inputs = [origin] if origin >= 0 else []
        self.append({"kind": kind, "name": name, "phase": phase, "in": inputs}, [tensor], [row], False)

    def row(self, tensor: torch.Tensor) -> int:
        """Take its numbers."""
        if tensor.layout is not torch.strided or tensor.is_quantized or tensor.is_meta:
            return -1
        taker = self._sketchers.get(tensor.device)
        if taker is None:
            taker = self._sketchers[tensor.device] = sketcher(tensor.device)
        self._rows.append((tensor.device, taker.add(tensor)))
        self.devices.add(tensor.device.type)
        self.dtypes.add(dtype(tensor))
        return len(self._rows) - 1

    def _carry(self, tensor: torch.Tensor) -> int:
        """A weight that nobody wrote since the step before is not measured again."""
        if self._carried.get(id(tensor), (-1,))[0] != tensor._version:
            return self.row(tensor)
        self._rows.append((None, id(tensor)))
        return len(self._rows) - 1

    def _place(self, entry: dict[str, Any]) -> None:
        """Module and line; in the backward pass those of the forward operator that the autograd node belongs to."""
        node = _node()
        if node is not None and not self._modules.stack:
            source = self._by_node.get(node._sequence_nr())
            if source is not None:
                entry["mod"], entry["at"] = (self._entries[source].get(key, "") for key in ("mod", "at"))
            return
        entry["mod"], entry["at"] = self._modules.path, self._lines.here()
        number = torch.autograd._get_sequence_nr() - 1
        if number != self._last_node and (node is None or threading.get_ident() == self._thread):
            self._last_node = number
            self._by_node[number] = len(self._entries)
