"""One dispatch mode that sees every operator, forward and backward, and notes what it was and what came out.

Views carry no numbers (their data is known already), copies that change nothing stand for what they copy, and while an
optimizer works only its calls are noted: weights, gradients and optimizer state are looked at before and after it.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from jumar.compare.call import Call, copy, dtype, tensors
from jumar.compare.facts import SIMPLE, Facts
from jumar.compare.folding import WIDTH
from jumar.compare.naming import Lines, Modules
from jumar.compare.origin import Origins
from jumar.compare.sketch import HEAD, Sketcher, sketcher

MOST_ENTRIES = 50_000
"""Operators of one step; a program without steps must not fill the memory."""
_INFINITE = 1 << 62
_node = torch._C._current_autograd_node

Alter = Callable[[Any, Sequence[Any], dict[str, Any]], Any]


class Recorder(TorchDispatchMode):  # type: ignore[misc]
    """Collects the entries of one step until `take`. Every call of the program comes through here: short ways count."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # torch.compile leaves code alone while a mode like this one is on; its guard would double the cost of a call.
        return False

    def __init__(self, alter: Alter | None = None, keep: Sequence[int] = ()) -> None:
        super().__init__()
        self.modules = Modules()
        self.alter = alter
        self.keep = set(keep)
        self.kept: dict[int, dict[str, Any]] = {}
        self.in_optimizer = False
        self.active = True
        self.cut = False
        self.devices: set[str] = set()
        self.dtypes: set[str] = set()
        self._thread = threading.get_ident()
        self._lines = Lines()
        self._facts: dict[Any, Facts] = {}
        self._sketchers: dict[torch.device, Sketcher] = {}
        self._last: dict[int, tuple[int, int]] = {}
        self._carried: dict[int, tuple[int, np.ndarray[Any, Any]]] = {}
        _stop_in_children(self)
        self._begin()

    def _begin(self) -> None:
        self.entries: list[dict[str, Any]] = []
        self.rows: list[tuple[torch.device | None, int]] = []
        """Where the numbers are: row of a device, or a weight whose numbers the step before has left."""
        self._origins = Origins()
        self._by_node: dict[int, int] = {}
        self._last_node = -1
        self._in_optimizer: set[Any] = set()
        self._has_gradients = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if not self.active:
            return func(*args, **kwargs)
        facts = self._facts.get(func)
        if facts is None:
            facts = self._facts[func] = Facts(func)
        if facts.is_silent:
            return func(*args, **kwargs)
        if self.in_optimizer:
            self._note_update(facts, args, kwargs)
            return self.alter(func, args, kwargs) if self.alter and not facts.is_view else func(*args, **kwargs)
        phase = self._phase()
        call = self._before(facts, args, kwargs, phase)
        saved = [copy(value) for value in call.tensors] if self.keep and len(self.entries) in self.keep else None
        done = self.alter(func, args, kwargs) if self.alter and not facts.is_view else func(*args, **kwargs)
        if facts.is_collective and isinstance(done, tuple):
            done[-1].wait()
        outs = [done] if isinstance(done, torch.Tensor) else tensors(done)
        if not outs and facts.changed:
            given = {**dict(zip(facts.names, args)), **kwargs}
            outs = tensors([given.get(name) for name in facts.changed])
        entry = self._after(facts, call, outs)
        if saved is not None:
            self.kept[entry] = {"inputs": saved, "outputs": [copy(value) for value in tensors(done)]}
        return done

    def _phase(self) -> str:
        """What handles gradients after them, such as clipping, belongs to the backward pass."""
        if _node() is not None:
            self._has_gradients = True
            return "backward"
        return "backward" if self._has_gradients and not torch.is_grad_enabled() else "forward"

    def _note_update(self, facts: Facts, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        """Only the call and its numbers, once: what it did is looked at when the optimizer is done."""
        if facts.is_view:
            return
        given = {**facts.defaults, **dict(zip(facts.names, args)), **kwargs}
        plain = {name: value for name, value in given.items() if type(value) in SIMPLE}
        key = (facts.name, *plain.items())
        if key not in self._in_optimizer:
            self._in_optimizer.add(key)
            self.append({"kind": "op", "op": facts.name, "phase": "optimizer", "args": plain, "outs": []})

    def look(self, kind: str, name: str, tensor: torch.Tensor, phase: str) -> None:
        """Note a tensor that is no operator's output: a gradient or the state of an optimizer."""
        origin = self._origins.get(tensor)
        known = self.entries[origin]["outs"][self._origins.output(tensor)] if origin >= 0 and kind == "grad" else None
        if known is None or known[1] != list(tensor.shape) or known[2] < 0:
            known = self._out(tensor, True)
        if kind == "state":
            self._last[id(tensor)] = (tensor._version, known[2])
        inputs = [origin] if origin >= 0 else []
        self.append({"kind": kind, "name": name, "phase": phase, "in": inputs, "outs": [known]})

    def line(self) -> str:
        """Of the user's own code that runs now."""
        return self._lines.here()

    def take(self) -> tuple[list[dict[str, Any]], np.ndarray[Any, Any]]:
        """The entries and numbers since the last call."""
        taken = {device: taker.take() for device, taker in self._sketchers.items()}
        numbers: np.ndarray[Any, Any] = np.zeros((len(self.rows), HEAD + WIDTH), np.float32)
        for place, (device, row) in enumerate(self.rows):
            numbers[place] = taken[device][row] if device is not None else self._carried[row][1]
        self._carried = {key: (version, numbers[row]) for key, (version, row) in self._last.items() if row >= 0}
        self._last = {}
        entries = self.entries
        self._begin()
        return entries, numbers

    def _before(self, facts: Facts, args: Sequence[Any], kwargs: dict[str, Any], phase: str) -> Call:
        """Inputs and arguments, looked at before the operator may change them."""
        call = Call(phase)
        told = call.args = facts.defaults.copy()
        if facts.written:
            given = {**dict(zip(facts.names, args)), **kwargs}
            for value in tensors([given.get(name) for name in facts.written]):
                if self._origins.get(value) < 0:
                    self._source(value, phase, measured=False)
        for name, value in zip(facts.names, args):
            told[name] = value if type(value) is bool or value is None else self._value(value, call)
        for name, value in kwargs.items():
            told[name] = value if type(value) is bool or value is None else self._value(value, call)
        return call

    def _value(self, value: Any, call: Call) -> Any:
        if isinstance(value, torch.Tensor):
            call.tensors.append(value)
            source = self._origins.get(value)
            if source < 0:
                source = self._source(value, call.phase)
            call.inputs.append(source)
            shape = list(value.shape)
            known = self.entries[source]["outs"]
            if known and known[0][1] == shape:
                call.shapes.append(None)
            else:
                call.shapes.append(shape)
                call.has_shapes = True
            return f"${len(call.inputs) - 1}"
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, int):
            return value if abs(value) < _INFINITE else str(value)
        if isinstance(value, float):
            return value if abs(value) < float("inf") else str(value)
        if isinstance(value, (list, tuple)):
            return [self._value(item, call) for item in value]
        return str(value)

    def _source(self, tensor: torch.Tensor, phase: str, measured: bool = True) -> int:
        """A new entry for a tensor that no operator made."""
        kind, name = self.modules.tensors.get(id(tensor), ("", ""))
        if not kind and tensor._base is not None:
            kind, name = self.modules.tensors.get(id(tensor._base), ("", ""))
            tensor = tensor._base if kind else tensor
        entry = {
            "kind": kind or "input",
            "name": name or f"{self.modules.path or 'input'} {dtype(tensor)}{list(tensor.shape)}",
            "phase": phase,
            "mod": self.modules.path,
            "at": "" if kind else self._lines.here(),
            "outs": [self._carry(tensor) if kind == "weight" and measured else self._out(tensor, measured)],
        }
        index = self.append(entry)
        self._origins.put(tensor, index)
        return index

    def _after(self, facts: Facts, call: Call, outs: list[torch.Tensor]) -> int:
        entry = {"kind": "op", "op": facts.name, "phase": call.phase, "args": call.args, "in": call.inputs}
        if call.has_shapes:
            entry["shapes"] = call.shapes
        if facts.is_view:
            entry["kind"] = "view"
            entry["outs"] = [[dtype(out), list(out.shape), -1] for out in outs]
            self._place(entry)
            return self.append(entry)
        same = facts.is_copy and call.tensors and outs and outs[0].dtype == call.tensors[0].dtype
        measured = not (same or facts.is_empty)
        entry["outs"] = [self._out(out, measured) for out in outs]
        self._place(entry)
        index = self.append(entry)
        if same:
            entry["kind"] = "view"
            self._origins.put(outs[0], call.inputs[0])
            return index
        for place, out in enumerate(outs):
            self._origins.put(out, index, place)
        return index

    def _place(self, entry: dict[str, Any]) -> None:
        """Module and line; in the backward pass those of the forward operator that the autograd node belongs to."""
        node = _node()
        if node is not None and not self.modules.stack:
            source = self._by_node.get(node._sequence_nr())
            if source is not None:
                entry["mod"], entry["at"] = self.entries[source].get("mod", ""), self.entries[source].get("at", "")
            return
        entry["mod"], entry["at"] = self.modules.path, self._lines.here()
        number = torch.autograd._get_sequence_nr() - 1
        if number != self._last_node and (node is None or threading.get_ident() == self._thread):
            self._last_node = number
            self._by_node[number] = len(self.entries)

    def _carry(self, tensor: torch.Tensor) -> list[Any]:
        """A weight that nobody wrote since the step before is not measured again."""
        if self._carried.get(id(tensor), (-1,))[0] != tensor._version:
            return self._out(tensor, True)
        self.rows.append((None, id(tensor)))
        return [dtype(tensor), list(tensor.shape), len(self.rows) - 1]

    def _out(self, tensor: torch.Tensor, measured: bool) -> list[Any]:
        row = -1
        if measured and tensor.layout is torch.strided and not tensor.is_quantized:
            taker = self._sketchers.get(tensor.device)
            if taker is None:
                taker = self._sketchers[tensor.device] = sketcher(tensor.device)
            self.rows.append((tensor.device, taker.add(tensor)))
            row = len(self.rows) - 1
            self.devices.add(tensor.device.type)
            self.dtypes.add(dtype(tensor))
        return [dtype(tensor), list(tensor.shape), row]

    def append(self, entry: dict[str, Any]) -> int:
        self.entries.append(entry)
        if len(self.entries) >= MOST_ENTRIES:
            self.active, self.cut = False, True
        return len(self.entries) - 1


def _stop_in_children(recorder: Recorder) -> None:
    """A worker that is forked off, such as that of a DataLoader, records nothing."""
    known = weakref.ref(recorder)

    def stop() -> None:
        found = known()
        if found is not None:
            found.active = False

    os.register_at_fork(after_in_child=stop)
