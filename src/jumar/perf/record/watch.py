"""Sees every operator of a program, forward and backward, whatever the program imports: a dispatch mode of torch."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator
from functools import cache
from types import FrameType
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from jumar.perf.places import is_framework, is_library
from jumar.perf.profile import COPY
from jumar.perf.record.clock import Stopwatch
from jumar.perf.record.kernels import falls_back
from jumar.perf.roofline import Tensor
from jumar.perf.simulate import Call
from jumar.tables.perf import cpu_operators

LIMIT = 100_000
"""Operators of a process: what comes after is not recorded, and the profile says so."""
FRAMES = 6
_SYNCS = {"aten::_local_scalar_dense", "aten::nonzero", "aten::masked_select", "aten::_unique2", "aten::unique_dim",
          "aten::unique_consecutive", "aten::bincount", "aten::equal", "aten::is_nonzero"}  # fmt: skip
_INDEXED = {"aten::index", "aten::index_put", "aten::index_put_", "aten::_index_put_impl_"}
"""torch_npu turns a boolean index into `nonzero` inside of these (op-plugin `utils/AdvancedIndex.cpp`)."""
_MOVES = {"aten::_to_copy", "aten::copy_"}
_SAME_DATA = {*_MOVES, "aten::clone", "aten::contiguous"}
_ALLOCATIONS = {"aten::empty", "aten::empty_strided", "aten::empty_like", "aten::new_empty", "aten::detach",
                "aten::new_empty_strided", "aten::lift_fresh", "aten::set_", "aten::resize_"}  # fmt: skip


class Watch(TorchDispatchMode):  # type: ignore[misc]
    """Records calls; `card` is the kind of device whose operators count, `cpu` where all do."""

    def __init__(self, card: str) -> None:
        super().__init__()
        self.card = card
        self.calls: list[Call] = []
        self.full = False
        self.in_loader = False
        self.in_update = False
        self.in_one = False
        """Inside of something that is recorded as one operator."""
        self.overhead = 0.0
        """Microseconds that coming here takes, found by `calibrate`."""
        self._clock = threading.local()
        self._numbers: dict[int, int] = {}
        self._count = 0
        self._lock = threading.Lock()
        self._here = os.getcwd() + os.sep

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        gap = self.gap()
        clock = Stopwatch() if falls_back(func) else None
        result = func(*args, **(kwargs or {}))
        spent = clock.worked() if clock else 0.0
        if not self.full and not self.in_loader and not self.in_one:
            # a record is not worth a failed run
            with contextlib.suppress(Exception):
                self._record(func, args, kwargs or {}, result, max(0.0, gap - self.overhead), spent)
        self.reset()
        return result

    def calibrate(self) -> None:
        """What a call costs that does nothing: the time between two of them is our own."""
        one = torch.zeros(1)
        for _ in range(200):
            torch.neg(one)
        gaps = sorted(call.gap for call in self.calls)
        self.overhead = gaps[len(gaps) // 2] if gaps else 0.0
        self.calls.clear()

    def gap(self) -> float:
        """Microseconds of this thread's own work since it was last here, without those of others on the processor."""
        last = getattr(self._clock, "last", None)
        return (time.thread_time_ns() - last) / 1000 if last is not None else 0.0

    def reset(self) -> None:
        self._clock.last = time.thread_time_ns()

    def mark(self, kind: str, name: str, gap: float, spent: float = 0.0) -> None:
        """Something that is no operator: a batch, the begin or end of an update."""
        if not self.full:
            self.calls.append(Call(kind, name, gap, spent, stack=self._stack(sys._getframe(2))))
        self.reset()

    def _record(self, func: Any, args: Any, kwargs: Any, result: Any, gap: float, spent: float) -> None:
        with self._lock:
            inputs = list(_tensors([args, kwargs]))
            outputs = list(_tensors([result]))
            if self.card != "cpu" and not self._on_card(inputs, outputs):
                return
            stack = self._stack(sys._getframe(2))
            name = func._schema.name
            kind = self._kind(func, name, inputs, outputs)
            if self.card == "cpu" and name in cpu_operators():
                kind, name = "kernel", cpu_operators()[name]
            if kind == "sync" and name in _MOVES:
                name = COPY
            if name in _INDEXED and (masks := _masks(args)):
                self.calls.append(Call("sync", "aten::nonzero", gap, 0.0, masks, masks, None, stack))
                gap = 0.0
            self.calls.append(
                Call(
                    kind,
                    name,
                    gap,
                    spent,
                    tuple(map(_value, inputs)),
                    () if name == COPY else tuple(map(_value, outputs)),
                    self._flow(name, inputs, outputs),
                    stack,
                )
            )
            self.full = len(self.calls) >= LIMIT

    @contextlib.contextmanager
    def as_one(self, name: str, inputs: tuple[Any, ...]) -> Iterator[list[Any]]:
        """What runs in here is recorded as one operator; the result is put into the list."""
        done: list[Any] = []
        if self.in_one or self.in_loader:
            yield done
            return
        gap = self.gap()
        self.in_one = True
        try:
            yield done
        finally:
            self.in_one = False
        if not self.full:
            with self._lock:
                outputs = list(_tensors(done))
                values = tuple(map(_value, inputs)), tuple(map(_value, outputs))
                flow = self._flow(name, list(inputs), outputs)
                self.calls.append(Call("kernel", name, gap, 0.0, *values, flow, self._stack(sys._getframe(3))))
        self.reset()

    def _on_card(self, inputs: list[Any], outputs: list[Any]) -> bool:
        return any(item.device.type == self.card for item in inputs) or any(
            item.device.type == self.card for item in outputs
        )

    def _kind(self, func: Any, name: str, inputs: list[Any], outputs: list[Any]) -> str:
        if name.startswith("profiler::"):
            return "view"
        if name.startswith(("c10d::", "_c10d_functional::")):
            return "collective" if "barrier" not in name and "wait" not in name else "view"
        if self.card == "cpu" and self.in_update and not any(item.dim() for item in [*inputs, *outputs]):
            return "view"  # the step counters of an optimizer stay on the host
        if name in _SYNCS:
            return "sync"
        if name in _MOVES and self.card != "cpu" and inputs:
            source = inputs[-1] if name == "aten::copy_" else inputs[0]
            target = inputs[0] if name == "aten::copy_" else (outputs or inputs)[0]
            if source.device.type == self.card and target.device.type != self.card:
                return "sync"
        if falls_back(func):
            return "fallback"
        if name in _ALLOCATIONS or (not func._schema.is_mutable and _is_view(inputs, outputs)):
            return "view"
        return "kernel"

    def _flow(self, name: str, inputs: list[Any], outputs: list[Any]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Numbers of what was read and written; views and plain copies keep the number of what they show."""
        read = {key: self._number(key) for key in map(_storage, inputs)}
        written = []
        for key in map(_storage, outputs):
            if key in read:
                written.append(read[key])
            elif name in _SAME_DATA and read:
                self._numbers[key] = next(iter(read.values()))
                written.append(self._numbers[key])
            else:
                self._numbers.pop(key, None)
                written.append(self._number(key))
        return tuple(read.values()), tuple(written)

    def _number(self, key: int) -> int:
        found = self._numbers.get(key)
        if found is None:
            self._count += 1
            found = self._numbers[key] = self._count
        return found

    def _stack(self, frame: FrameType | None) -> str:
        """The frames of the program, innermost first; those of the main thread for a thread of torch's own."""
        lines = self._frames(frame)
        if not lines and threading.current_thread() is not threading.main_thread():
            lines = self._frames(sys._current_frames().get(threading.main_thread().ident or 0))
        return sys.intern(";\n".join(lines))

    def _frames(self, frame: FrameType | None) -> list[str]:
        """Of the program, and before them the one of a library that the program called, such as transformers."""
        lines: list[str] = []
        library = ""
        while frame is not None and len(lines) < FRAMES:
            name = frame.f_code.co_filename
            if not name.startswith("<") and not is_framework(name):
                lines.append(f"{name.removeprefix(self._here)}({frame.f_lineno}): {frame.f_code.co_name}")
            elif not lines and not library and is_library(name):
                library = f"{name}({frame.f_lineno}): {frame.f_code.co_name}"
            frame = frame.f_back
        return [library, *lines] if library and lines else lines


def _tensors(values: Any) -> Iterator[Any]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)
        elif isinstance(value, dict):
            yield from _tensors(value.values())


def _masks(args: Any) -> tuple[Tensor, ...]:
    indices = args[1] if len(args) > 1 and isinstance(args[1], (list, tuple)) else ()
    return tuple(_value(item) for item in _tensors(indices) if item.dtype in (torch.bool, torch.uint8))


def _value(tensor: Any) -> Tensor:
    return _tensor(tuple(tensor.shape), tensor.dtype)


@cache
def _tensor(shape: tuple[int, ...], dtype: Any) -> Tensor:
    return Tensor(shape, str(dtype).removeprefix("torch."))


def _storage(tensor: Any) -> int:
    try:
        return int(tensor.untyped_storage()._cdata)
    except (NotImplementedError, RuntimeError):
        return id(tensor)


def _is_view(inputs: list[Any], outputs: list[Any]) -> bool:
    known = {_storage(item) for item in inputs}
    return bool(outputs) and all(_storage(item) in known for item in outputs)
