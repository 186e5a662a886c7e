"""Records a program: begins with the first model that runs, ends a step where an optimizer has stepped, writes files.

The first steps are recorded whole; of every later one only loss and gradient norm are kept.
"""

from __future__ import annotations

import atexit
import json
import os
import threading
import warnings
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import torch
from torch.optim.optimizer import (
    Optimizer,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from torch.utils._python_dispatch import _disable_current_modes, _get_current_dispatch_mode

from jumar.compare import about, model, noise, overflow, store, updates
from jumar.compare.card import Imitated
from jumar.compare.ending import Ending
from jumar.compare.losses import Losses
from jumar.compare.recorder import Alter, Recorder
from jumar.core.errors import UserError
from jumar.tables.numerics import Formats

STEPS = 3


class Session:
    """Recording from `begin` to `end`; made once per process."""

    def __init__(self, folder: Path, steps: int = STEPS, *, noise_unit: float = 0.0, seed: int | None = None,
                 rounded: str = "", keep: tuple[int, ...] = (), lazy: bool = False, stop: int | None = None,
                 watch: bool = False, began: float | None = None, card: Sequence[str] = ()) -> None:  # fmt: skip
        if steps < 1:
            raise UserError(f"`steps={steps}`: at least one step must be recorded")
        self.folder = folder
        self.steps = steps
        self.step = 0
        self.place: Path | None = None
        self._altered = (
            " ".join([model.WORD, *card]) if card else rounded or (f"noise {noise_unit:g}" * bool(noise_unit))
        )
        self.recorder = Recorder(_alteration(noise_unit, seed or 0, rounded, card), keep)
        self._lazy = lazy
        self._stop = stop
        self._watch = watch
        """Look at every step, and keep only the first with an operator that makes inf or nan."""
        self._ending = Ending(began)
        self._pid = os.getpid()
        self._thread = threading.get_ident()
        self._entered = self._popped = False
        self._closed = False
        self._losses = Losses(self._mine, self._skip_step)
        self._norm: torch.Tensor | None = None
        self._undo: list[Any] = []

    def begin(self) -> Session:
        hooks = torch.nn.modules.module
        self._undo = [
            hooks.register_module_forward_pre_hook(self._enter_module).remove,
            hooks.register_module_forward_hook(self._leave_module, always_call=True).remove,
            register_optimizer_step_pre_hook(self._before_optimizer).remove,
            register_optimizer_step_post_hook(self._after_optimizer).remove,
        ]
        self._undo += [*self._losses.watch(), self._ending.watch()]
        warnings.filterwarnings("ignore", "Using `torch.compile.module.` when there are global hooks", UserWarning)
        atexit.register(self.end)
        if not self._lazy:
            self._enter()
        return self

    def end(self) -> None:
        """Write what is left of the last step; called again it does nothing."""
        if self._closed or os.getpid() != self._pid:
            return
        self._closed = True
        self._ending.close()
        atexit.unregister(self.end)
        for undo in reversed(self._undo):
            undo()
        if self.recorder.log or self._losses:
            self._finish_step()
        self._leave()
        if self.place is not None:
            self._write_meta()

    def __enter__(self) -> Session:
        return self.begin()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if kind is not None:
            self._ending.failed(kind)
        self.end()

    def next_step(self) -> None:
        """End the current step by hand, for loops without an optimizer."""
        if not self._closed and (self.recorder.log or self._losses):
            self._finish_step()

    # The program's own events.

    def _mine(self) -> bool:
        return not self._closed and os.getpid() == self._pid

    def _enter_module(self, module: torch.nn.Module, _: Any) -> None:
        if not self._mine() or torch.jit.is_scripting():
            return
        if not self._entered and self.step < self.steps and threading.get_ident() == self._thread:
            self._enter()
        self.recorder.modules.enter(module)

    def _leave_module(self, module: torch.nn.Module, _: Any, __: Any) -> None:
        if not self._mine():
            return
        self.recorder.modules.leave()
        outermost = not self.recorder.modules.stack and torch._C._current_autograd_node() is None
        if outermost and not torch.is_grad_enabled() and self.recorder.log and self._lazy:
            self._finish_step()

    def _before_optimizer(self, optimizer: Optimizer, *_: Any) -> None:
        if not self._mine():
            return
        with torch.no_grad(), _disable_current_modes():
            self._norm = updates.norm(optimizer)
            if self.recorder.active and self._entered:
                updates.before(self.recorder, optimizer)
        self.recorder.in_optimizer = True
        if self.step and self.recorder.alter is None:
            self._pop()  # what it calls is known from the first step

    def _after_optimizer(self, optimizer: Optimizer, *_: Any) -> None:
        if not self._mine():
            return
        self.recorder.in_optimizer = False
        if self._popped:
            self._push()
        if self._entered and self.recorder.active:
            with torch.no_grad(), _disable_current_modes():
                updates.after(self.recorder, optimizer, inner=self.step == 0)
        self._finish_step()

    # On and off.

    def _enter(self) -> None:
        # Compiled code would show nothing, and compiling would look into the recorder itself.
        _stance("force_eager")
        self._push()

    def _push(self) -> None:
        self.recorder.__enter__()
        self._entered, self._popped = True, False

    def _pop(self) -> None:
        # Another mode on top of ours must not be popped in its place; ours then stays.
        if self._entered and _get_current_dispatch_mode() is self.recorder:
            self.recorder.__exit__(None, None, None)
            self._entered, self._popped = False, True

    def _leave(self) -> None:
        if not self._entered:
            return
        self.recorder.active = False
        _stance("default")
        self._pop()
        self._entered = self._popped = False

    # Writing.

    def _skip_step(self) -> None:
        """A scaler decided against the step of the optimizer."""
        self._finish_step(skipped=True)

    def _finish_step(self, *, skipped: bool = False) -> None:
        with torch.no_grad(), _disable_current_modes():
            self._write_step(skipped)
        self.step += 1
        if self.step == self.steps:
            self._ending.recorded()
        if self.step in (1, self.steps):
            self._write_meta()
        if self.step >= self.steps:
            self._leave()
        if self._stop is not None and self.step >= self._stop and not self._closed:
            self.end()
            raise SystemExit(0)

    def _write_step(self, skipped: bool) -> None:
        is_empty = not self.recorder.log
        entries, numbers = self.recorder.take()
        folder = self._folder()
        if self._watch and not is_empty:
            test = overflow.in_forward if skipped else overflow.in_step
            if test(store.step_of(self.step, entries, numbers)):
                self._stop = self.step + 1
            else:
                is_empty = True
        if not is_empty and self.step < self.steps:
            store.write_step(folder / f"step-{self.step:05d}.jrec", entries, numbers, self._losses.scale)
            self._keep_tensors(folder)
        norm = None if self._norm is None else float(self._norm)
        line = json.dumps({"step": self.step, "loss": _plain(self._losses.take()), "grad_norm": _plain(norm)})
        with open(folder / "curve.jsonl", "a", encoding="utf-8") as file:
            file.write(line + "\n")
        self._norm = None

    def _keep_tensors(self, folder: Path) -> None:
        if self.step or not self.recorder.kept:
            return
        place = folder / "tensors"
        place.mkdir(exist_ok=True)
        for index, tensors in self.recorder.kept.items():
            torch.save(tensors, place / f"op{index}.pt")
        self.recorder.kept = {}
        self.recorder.keep = set()

    def _folder(self) -> Path:
        """The rank's folder; found out late, since a program may say its rank late."""
        if self.place is None:
            place = self.folder / f"rank{about.rank()}"
            try:
                place.mkdir(parents=True)
            except FileExistsError:
                place = self.folder / f"rank{about.rank()}-{os.getpid()}"
                place.mkdir(parents=True)
            self.place = place
        return self.place

    def _write_meta(self) -> None:
        assert self.place is not None
        told = about.meta(self.recorder, self._altered)
        counted = {"steps": self.step, "recorded": min(self.step, self.steps)}
        store.write_json(self.place / "meta.json", {**told, **counted, **self._ending.meta()})


def _alteration(unit: float, seed: int, rounded: str, card: Sequence[str]) -> Alter | None:
    if card:
        return Imitated(Formats(*card))
    return noise.Rounded(rounded) if rounded else noise.Noise(unit, seed) if unit else None


def _stance(name: str) -> None:
    """How torch.compile behaves; torch before 2.6 has no such switch, and leaves code alone under a mode by itself."""
    change = getattr(torch.compiler, "set_stance", None)
    if change is not None:
        change(name)


def _plain(value: float | None) -> float | str | None:
    """JSON has no nan and no infinity."""
    return value if value is None or np.isfinite(value) else str(value)
