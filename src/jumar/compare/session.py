"""Records a program: begins with the first model that runs, ends a step where an optimizer has stepped, writes files.

The first steps are recorded whole; of every later one only loss and gradient norm are kept.
"""

from __future__ import annotations

import atexit
import json
import os
import platform
import sys
import threading
import warnings
from collections.abc import Iterator
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

from jumar import __version__
from jumar.compare import noise, precision, store
from jumar.compare.recorder import Recorder
from jumar.core.errors import UserError

STEPS = 3
_MOST_STATE = 400
"""Optimizer tensors that are looked at after the first step; with more, and later, only the weights are."""


class Session:
    """Recording from `begin` to `end`; made once per process."""

    def __init__(self, folder: Path, steps: int = STEPS, *, noise_unit: float = 0.0, seed: int | None = None,
                 rounded: str = "", keep: tuple[int, ...] = (), lazy: bool = False,
                 stop: int | None = None) -> None:  # fmt: skip
        if steps < 1:
            raise UserError(f"`steps={steps}`: at least one step must be recorded")
        self.folder = folder
        self.steps = steps
        self.step = 0
        self.place: Path | None = None
        self._altered = rounded or (f"noise {noise_unit:g}" if noise_unit else "")
        alter = noise.Rounded(rounded) if rounded else noise.Noise(noise_unit, seed or 0) if noise_unit else None
        self.recorder = Recorder(alter, keep)
        self._lazy = lazy
        self._stop = stop
        self._pid = os.getpid()
        self._thread = threading.get_ident()
        self._entered = False
        self._closed = False
        self._losses: list[torch.Tensor] = []
        self._unscaled: dict[int, torch.Tensor] = {}
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
        self._watch_backward()
        self._watch_scalers()
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
        atexit.unregister(self.end)
        for undo in reversed(self._undo):
            undo()
        if self.recorder.entries or self._losses:
            self._finish_step()
        self._leave()
        if self.place is not None:
            self._write_meta(complete=True)

    def __enter__(self) -> Session:
        return self.begin()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.end()

    def next_step(self) -> None:
        """End the current step by hand, for loops without an optimizer."""
        if not self._closed and (self.recorder.entries or self._losses):
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
        if outermost and not torch.is_grad_enabled() and self.recorder.entries and self._lazy:
            self._finish_step()

    def _before_optimizer(self, optimizer: Optimizer, *_: Any) -> None:
        if not self._mine():
            return
        grads = [tensor.grad for tensor in _weights(optimizer) if tensor.grad is not None]
        dense = [grad for grad in grads if grad.layout is torch.strided]
        with torch.no_grad(), _disable_current_modes():
            if dense:
                norms = [torch.linalg.vector_norm(grad).float() for grad in dense]
                self._norm = torch.linalg.vector_norm(torch.stack([norm.to(norms[0].device) for norm in norms]))
            if self.recorder.active and self._entered:
                for tensor in _weights(optimizer):
                    if tensor.grad is not None:
                        self.recorder.look("grad", self._name(tensor), tensor.grad, "backward")
        self.recorder.in_optimizer = True

    def _after_optimizer(self, optimizer: Optimizer, *_: Any) -> None:
        if not self._mine():
            return
        self.recorder.in_optimizer = False
        if self._entered and self.recorder.active:
            with torch.no_grad(), _disable_current_modes():
                self._look_at_state(optimizer)
        self._finish_step()

    def _look_at_state(self, optimizer: Optimizer) -> None:
        weights = list(_weights(optimizer))
        inner = sum(len(state) for state in optimizer.state.values())
        for tensor in weights:
            name = self._name(tensor)
            self.recorder.look("state", name, tensor, "optimizer")
            if self.step or inner + len(weights) > _MOST_STATE:
                continue
            for key, value in sorted(optimizer.state.get(tensor, {}).items(), key=lambda item: str(item[0])):
                if isinstance(value, torch.Tensor) and value.is_floating_point() and value.numel() > 1:
                    self.recorder.look("state", f"{key} of {name}", value, "optimizer")

    def _name(self, tensor: torch.Tensor) -> str:
        return self.recorder.modules.tensors.get(id(tensor), ("", f"weight {list(tensor.shape)}"))[1]

    def _watch_backward(self) -> None:
        plain = torch.autograd.backward

        def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            roots = tensors if isinstance(tensors, (list, tuple)) else [tensors]
            if self._mine():
                for root in roots:
                    if isinstance(root, torch.Tensor) and root.numel() == 1:
                        value: Any = self._unscaled.get(id(root), root)
                        with torch.no_grad(), _disable_current_modes():
                            self._losses.append(value.detach().clone())
            return plain(tensors, *args, **kwargs)

        torch.autograd.backward = backward
        self._undo.append(lambda: setattr(torch.autograd, "backward", plain))

    def _watch_scalers(self) -> None:
        """A scaled loss is no loss; and a scaler that skips a step ends it all the same."""
        for scaler in _scalers():
            self._watch_scaler(scaler)

    def _watch_scaler(self, scaler: Any) -> None:
        scale, update = scaler.scale, scaler.update

        def watched_scale(this: Any, outputs: Any) -> Any:
            scaled = scale(this, outputs)
            if isinstance(outputs, torch.Tensor) and scaled is not outputs:
                self._unscaled[id(scaled)] = outputs.detach()
            return scaled

        def watched_update(this: Any, *args: Any, **kwargs: Any) -> Any:
            done = update(this, *args, **kwargs)
            if self._mine() and self._losses:
                self._finish_step()
            return done

        scaler.scale, scaler.update = watched_scale, watched_update
        self._undo += [lambda: setattr(scaler, "scale", scale), lambda: setattr(scaler, "update", update)]

    # Writing.

    def _enter(self) -> None:
        # Compiled code would show nothing, and compiling would look into the recorder itself.
        _stance("force_eager")
        self.recorder.__enter__()
        self._entered = True

    def _leave(self) -> None:
        if not self._entered:
            return
        self._entered = False
        self.recorder.active = False
        _stance("default")
        # Another mode on top of ours must not be popped in its place; ours then stays and does nothing.
        if _get_current_dispatch_mode() is self.recorder:
            self.recorder.__exit__(None, None, None)

    def _finish_step(self) -> None:
        with torch.no_grad(), _disable_current_modes():
            self._write_step()
        self.step += 1
        if self.step == 1:
            self._write_meta(complete=False)
        if self.step >= self.steps:
            self._leave()
        if self._stop is not None and self.step >= self._stop and not self._closed:
            self.end()
            raise SystemExit(0)

    def _write_step(self) -> None:
        entries, numbers = self.recorder.take()
        folder = self._folder()
        if entries and self.step < self.steps:
            store.write_step(folder / f"step-{self.step:05d}.jrec", entries, numbers)
            self._keep_tensors(folder)
        losses = [float(value) for value in self._losses]
        loss = sum(losses) / len(losses) if losses else None
        norm = None if self._norm is None else float(self._norm)
        line = json.dumps({"step": self.step, "loss": _plain(loss), "grad_norm": _plain(norm)})
        with open(folder / "curve.jsonl", "a", encoding="utf-8") as file:
            file.write(line + "\n")
        self._losses, self._norm = [], None
        self._unscaled.clear()

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
            place = self.folder / f"rank{_rank()}"
            try:
                place.mkdir(parents=True)
            except FileExistsError:
                place = self.folder / f"rank{_rank()}-{os.getpid()}"
                place.mkdir(parents=True)
            self.place = place
        return self.place

    def _write_meta(self, *, complete: bool) -> None:
        assert self.place is not None
        store.write_json(self.place / "meta.json", {
            "format": store.FORMAT,
            "jumar": __version__,
            "rank": _rank(),
            "world": _world(),
            "device": _device(self.recorder.devices),
            "emulated": "npu" in self.recorder.devices and os.environ.get("JUMAR_EMULATE", "1") != "0"
            and not os.path.exists("/dev/davinci_manager"),
            "dtype": " ".join(sorted(self.recorder.dtypes & set(precision.UNIT))),
            "altered": self._altered,
            "cut": self.recorder.cut,
            "complete": complete,
            "command": sys.argv,
            **_environment(),
        })  # fmt: skip


def _stance(name: str) -> None:
    """How torch.compile behaves; torch before 2.6 has no such switch, and leaves code alone under a mode by itself."""
    change = getattr(torch.compiler, "set_stance", None)
    if change is not None:
        change(name)


def _weights(optimizer: Optimizer) -> Iterator[torch.Tensor]:
    for group in optimizer.param_groups:
        yield from group["params"]


def _scalers() -> list[Any]:
    found = [torch.amp.GradScaler]
    npu = getattr(getattr(getattr(torch, "npu", None), "amp", None), "GradScaler", None)
    return found if npu is None or "scale" not in vars(npu) else [*found, npu]


def _rank() -> int:
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_rank())
    told = os.environ.get("RANK", "0")
    return int(told) if told.isdecimal() else 0


def _world() -> int:
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_world_size())
    told = os.environ.get("WORLD_SIZE", "1")
    return int(told) if told.isdecimal() else 1


def _device(seen: set[str]) -> str:
    others = sorted(seen - {"cpu"})
    return others[0] if others else "cpu"


def _plain(value: float | None) -> float | str | None:
    """JSON has no nan and no infinity."""
    return value if value is None or np.isfinite(value) else str(value)


def _environment() -> dict[str, Any]:
    npu = sys.modules.get("torch_npu")
    return {
        "torch": torch.__version__,
        "torch_npu": getattr(npu, "__version__", ""),
        "numpy": np.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "threads": torch.get_num_threads(),
        "default_dtype": str(torch.get_default_dtype())[6:],
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "seed": torch.initial_seed(),
    }
