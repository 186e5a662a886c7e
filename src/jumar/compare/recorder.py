"""One dispatch mode that sees every operator, forward and backward, and notes what it was and what came out.

Views carry no numbers (their data is known already), copies that change nothing stand for what they copy, and while an
optimizer works only its calls are noted: weights, gradients and optimizer state are looked at before and after it.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from jumar.compare.call import Call, copy, tensors
from jumar.compare.facts import SIMPLE, Facts
from jumar.compare.fast import library
from jumar.compare.fast.log import FastLog, FastModules
from jumar.compare.log import Log
from jumar.compare.naming import Lines, Modules

MOST_ENTRIES = 50_000
"""Operators of one step; a program without steps must not fill the memory."""
_INFINITE = 1 << 62

Alter = Callable[[Any, Sequence[Any], dict[str, Any]], Any]


class Recorder(TorchDispatchMode):  # type: ignore[misc]
    """Collects the entries of one step until `take`. Every call that C++ does not note itself comes here."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # torch.compile leaves code alone while a mode like this one is on; its guard would double the cost of a call.
        return False

    def __init__(self, alter: Alter | None = None, keep: Sequence[int] = ()) -> None:
        super().__init__()
        self.alter = alter
        self.keep = set(keep)
        self.kept: dict[int, dict[str, Any]] = {}
        self.cut = False
        self._lines = Lines()
        self._facts: dict[Any, Facts] = {}
        self._noted: set[Any] = set()
        self._active, self._in_optimizer = True, False
        altered = "noise is added" if alter is not None else "tensors are kept" if keep else ""
        built = library.Found(None, altered) if altered else library.load()
        self.made_by = "C++" if built.library is not None else f"Python: {built.reason}"
        """What notes the operators; for Python, why it does."""
        self.log: Log | FastLog
        if built.library is None:
            self.modules = Modules()
            self.log = Log(self.modules, self._lines)
        else:
            self.log = FastLog(built.library, self, self._lines.file_of, MOST_ENTRIES)
            self.modules = FastModules(self.log)
        _stop_in_children(self)

    @property
    def active(self) -> bool:
        return self._active

    @active.setter
    def active(self, value: bool) -> None:
        self._active = value
        self._switch()

    @property
    def in_optimizer(self) -> bool:
        return self._in_optimizer

    @in_optimizer.setter
    def in_optimizer(self, value: bool) -> None:
        self._in_optimizer = value
        self._switch()

    def _switch(self) -> None:
        if isinstance(self.log, FastLog):
            self.log.switch(self._active and not self._in_optimizer)

    def __enter__(self) -> Recorder:
        super().__enter__()
        if isinstance(self.log, FastLog):
            self.log.attach()
        return self

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if not self._active:
            return func(*args, **kwargs)
        facts = self._facts.get(func)
        if facts is None:
            facts = self._facts[func] = Facts(func)
        if facts.is_silent or len(self.log) >= MOST_ENTRIES:
            return func(*args, **kwargs)
        if self._in_optimizer:
            self._note_update(facts, args, kwargs)
            return self.alter(func, args, kwargs) if self.alter and not facts.is_view else func(*args, **kwargs)
        call = self._before(facts, args, kwargs)
        saved = [copy(value) for value in call.tensors] if self.keep and len(self.log) in self.keep else None
        done = self.alter(func, args, kwargs) if self.alter and not facts.is_view else func(*args, **kwargs)
        if facts.is_collective and isinstance(done, tuple):
            done[-1].wait()
        outs = tensors(done)
        if not outs and facts.changed:
            given = {**dict(zip(facts.names, args)), **kwargs}
            outs = tensors([given.get(name) for name in facts.changed])
        entry = self._after(facts, call, outs)
        if saved is not None:
            self.kept[entry] = {"inputs": saved, "outputs": [copy(value) for value in tensors(done)]}
        return done

    def _note_update(self, facts: Facts, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        """Only the call and its numbers, once: what it did is looked at when the optimizer is done."""
        if facts.is_view:
            return
        given = {**facts.defaults, **dict(zip(facts.names, args)), **kwargs}
        plain = {name: value for name, value in given.items() if type(value) in SIMPLE}
        key = (facts.name, *plain.items())
        if key not in self._noted:
            self._noted.add(key)
            self.append({"kind": "op", "op": facts.name, "phase": "optimizer", "args": plain})

    def line(self) -> str:
        """Of the user's own code that runs now."""
        return self._lines.here()

    def append(self, entry: dict[str, Any]) -> None:
        """Add an entry without outputs."""
        self.log.append(entry, [], [], False)

    def take(self) -> tuple[bytes, Any]:
        """The entries, as a list in JSON, and the numbers since the last call."""
        if len(self.log) >= MOST_ENTRIES:
            self.active, self.cut = False, True
        self._noted = set()
        return self.log.take()

    def _before(self, facts: Facts, args: Sequence[Any], kwargs: dict[str, Any]) -> Call:
        """Inputs and arguments, looked at before the operator may change them."""
        call = Call(self.log.phase())
        told = call.args = facts.defaults.copy()
        if facts.written:
            given = {**dict(zip(facts.names, args)), **kwargs}
            for value in tensors([given.get(name) for name in facts.written]):
                if self.log.origin(value) < 0:
                    self.log.source(value, call.phase, measured=False)
        for name, value in zip(facts.names, args):
            told[name] = value if type(value) is bool or value is None else self._value(value, call)
        for name, value in kwargs.items():
            told[name] = value if type(value) is bool or value is None else self._value(value, call)
        return call

    def _value(self, value: Any, call: Call) -> Any:
        if isinstance(value, torch.Tensor) and not value.is_nested:
            call.tensors.append(value)
            source = self.log.origin(value)
            if source < 0:
                source = self.log.source(value, call.phase)
            call.inputs.append(source)
            fits = self.log.fits(source, value)
            call.shapes.append(None if fits else list(value.shape))
            call.has_shapes |= not fits
            return f"${len(call.inputs) - 1}"
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, int):
            return value if abs(value) < _INFINITE else str(value)
        if isinstance(value, float):
            return value if abs(value) < float("inf") else str(value)
        if isinstance(value, (list, tuple)):
            return [self._value(item, call) for item in value]
        if isinstance(value, torch.Generator):
            return "<generator>"
        return "nested" if isinstance(value, torch.Tensor) else str(value)

    def _after(self, facts: Facts, call: Call, outs: list[torch.Tensor]) -> int:
        same = bool(facts.is_copy and call.tensors and outs and outs[0].dtype == call.tensors[0].dtype)
        silent = facts.is_view or same or facts.is_empty
        kind = "view" if facts.is_view or same else "op"
        entry = {"kind": kind, "op": facts.name, "phase": call.phase, "args": call.args, "in": call.inputs}
        if call.has_shapes:
            entry["shapes"] = call.shapes
        index = self.log.append(entry, outs, [-1 if silent else self.log.row(out) for out in outs], True)
        if same and not facts.is_view:
            self.log.put(outs[0], call.inputs[0])
        elif not facts.is_view:
            for place, out in enumerate(outs):
                self.log.put(out, index, place)
        return index


def _stop_in_children(recorder: Recorder) -> None:
    """A worker that is forked off, such as that of a DataLoader, records nothing."""
    known = weakref.ref(recorder)

    def stop() -> None:
        found = known()
        if found is not None:
            found.active = False

    os.register_at_fork(after_in_child=stop)
