"""`Log` in C++ (log.h): what Python has to say to it, and the tensors whose memory only their device can read."""

from __future__ import annotations

import ctypes
import json
import weakref
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

import numpy as np
import torch

from jumar.compare import native
from jumar.compare.call import dtype
from jumar.compare.facts import Facts
from jumar.compare.fast.library import LEARN, READS, Library
from jumar.compare.folding import WIDTH
from jumar.compare.naming import Modules
from jumar.compare.sketch import HEAD, DeviceSketcher

_NONE, _MEASURE = -1, -2
_SILENT, _VIEW, _COPY, _EMPTY, _IN_PYTHON = 1, 2, 4, 8, 16


class FastLog:
    """The same methods as `Log`; `attach` and `switch` decide whether operators are noted without Python."""

    def __init__(self, library: Library, mode: Any, file_of: Callable[[CodeType], str], most: int) -> None:
        self.devices: set[str] = set()
        self.dtypes: set[str] = set()
        self.library = library
        self._elsewhere: list[tuple[int, torch.device, int]] = []
        """Rows that a device has: number, device, and number there."""
        self._sketchers: dict[torch.device, DeviceSketcher] = {}
        known = weakref.ref(self)
        self._callbacks = LEARN(lambda schema, name: _learn(known(), schema, name)), READS(native.is_emulated)
        self.at = library.open(id(mode), *self._callbacks, native.sketch(), most, file_of)
        weakref.finalize(self, library.close, self.at)

    def attach(self) -> None:
        self.library.attach()

    def switch(self, on: bool) -> None:
        self.library.switch(self.at, on)

    def __len__(self) -> int:
        return int(self.library.count(self.at))

    def take(self) -> tuple[bytes, np.ndarray[Any, Any]]:
        size = ctypes.c_uint64()
        text = ctypes.string_at(self.library.json(self.at, ctypes.byref(size)), size.value)
        numbers: np.ndarray[Any, Any] = np.empty((self.library.rows(self.at), HEAD + WIDTH), np.float32)
        self.devices.update(self.library.devices(self.at).decode().split())
        self.dtypes.update(self.library.types(self.at).decode().split())
        self.library.take(self.at, numbers.ctypes.data)
        taken = {device: taker.take() for device, taker in self._sketchers.items()}
        for row, device, there in self._elsewhere:
            numbers[row] = taken[device][there]
        self._elsewhere = []
        return b"[%b]" % text, numbers

    def phase(self) -> str:
        return str(self.library.phase(self.at), "ascii")

    def origin(self, tensor: torch.Tensor) -> int:
        return int(self.library.origin(self.at, tensor._cdata))

    def put(self, tensor: torch.Tensor, entry: int, output: int = 0) -> None:
        self.library.put(self.at, tensor._cdata, entry, output)

    def fits(self, entry: int, tensor: torch.Tensor) -> bool:
        return bool(self.library.fits(self.at, entry, tensor._cdata))

    def append(self, entry: dict[str, Any], outs: Sequence[torch.Tensor], rows: Sequence[int], placed: bool) -> int:
        named = {"kind": "", "phase": "", "at": "", **entry}
        kind, phase, line = (named.pop(key).encode() for key in ("kind", "phase", "at"))
        rest = json.dumps(named, separators=(",", ":"))[1:-1].encode()
        tensors = (ctypes.c_void_p * len(outs))(*(out._cdata for out in outs))
        numbers = (ctypes.c_int * len(rows))(*rows)
        told = b"," + rest if rest else b""
        return int(self.library.append(self.at, kind, phase, told, tensors, numbers, len(outs), placed, line))

    def source(self, tensor: torch.Tensor, phase: str, measured: bool = True) -> int:
        row = self._row(tensor) if measured else _NONE
        return int(self.library.source(self.at, tensor._cdata, phase.encode(), row))

    def look(self, kind: str, name: str, tensor: torch.Tensor, phase: str) -> None:
        self.library.look(self.at, kind.encode(), name.encode(), tensor._cdata, phase.encode(), self._row(tensor))

    def row(self, tensor: torch.Tensor) -> int:
        found = self._row(tensor)
        return int(self.library.row(self.at, tensor._cdata)) if found == _MEASURE else found

    def _row(self, tensor: torch.Tensor) -> int:
        """A row that its device fills, if nobody else can read its memory."""
        device = tensor.device
        if device.type == "cpu" or native.reads(device):
            return _MEASURE
        if tensor.layout is not torch.strided or tensor.is_quantized or tensor.is_meta:
            return _NONE
        if device not in self._sketchers:
            self._sketchers[device] = DeviceSketcher(device)
        row = int(self.library.empty_row(self.at))
        self._elsewhere.append((row, device, self._sketchers[device].add(tensor)))
        self.devices.add(device.type)
        self.dtypes.add(dtype(tensor))
        return row


class FastModules(Modules):
    """Tells C++ which module runs, and the names of weights and buffers."""

    def __init__(self, log: FastLog) -> None:
        super().__init__()
        self._log = log
        self._texts: dict[str, int] = {}

    def enter(self, module: torch.nn.Module) -> None:
        super().enter(module)
        name = self.stack[-1]
        text = self._texts.get(name)
        if text is None:
            text = self._texts[name] = self._log.library.text(self._log.at, name.encode())
        self._log.library.enter(self._log.at, text)

    def leave(self) -> None:
        super().leave()
        self._log.library.leave(self._log.at)

    def _learn(self, root: torch.nn.Module, title: str) -> None:
        super()._learn(root, title)
        for tensor in (*root.parameters(), *root.buffers()):
            kind, name = self.tensors[id(tensor)]
            self._log.library.name(self._log.at, tensor._cdata, kind.encode(), name.encode())


def _learn(log: FastLog | None, schema: int, name: bytes) -> None:
    """Say what is constant about an operator, named as `aten::add.Tensor`."""
    assert log is not None
    space, _, rest = name.decode().partition("::")
    packet, _, overload = rest.partition(".")
    try:
        facts = Facts(getattr(getattr(getattr(torch.ops, space), packet), overload or "default"))
    except AttributeError:  # an operator without a name in Python
        log.library.facts(log.at, schema, _IN_PYTHON, b"")
        return
    flags = (
        _SILENT * facts.is_silent | _VIEW * facts.is_view | _COPY * facts.is_copy | _EMPTY * facts.is_empty
        | _IN_PYTHON * facts.is_collective
    )  # fmt: skip
    log.library.facts(log.at, schema, flags, f',"op":{json.dumps(facts.name)}'.encode())
    for argument in facts.names:
        fallback = json.dumps(facts.defaults[argument]) if argument in facts.defaults else ""
        told = (f"{json.dumps(argument)}:".encode(), fallback.encode())
        log.library.argument(log.at, schema, *told, argument in facts.changed, argument in facts.written)
