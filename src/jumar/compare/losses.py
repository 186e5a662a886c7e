"""The losses of a program: what `backward` is called on, without the factor that a gradient scaler puts on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

Undo = Callable[[], None]


class Losses:
    """Collects them from `watch` on; `scaled` is called where a scaler has decided about a step."""

    def __init__(self, mine: Callable[[], bool], scaled: Callable[[], None]) -> None:
        self._mine = mine
        self._scaled = scaled
        self._seen: list[torch.Tensor] = []
        self._unscaled: dict[int, torch.Tensor] = {}
        self.scale = 1.0
        """The factor that a scaler put on the last loss, and so on all gradients."""

    def __bool__(self) -> bool:
        return bool(self._seen)

    def take(self) -> float | None:
        """Their mean since the last call."""
        values = [float(value) for value in self._seen]
        self._seen = []
        self._unscaled.clear()
        return sum(values) / len(values) if values else None

    def watch(self) -> list[Undo]:
        """Begin; what is given back undoes it."""
        return [self._watch_backward(), *(undo for scaler in _scalers() for undo in self._watch_scaler(scaler))]

    def _watch_backward(self) -> Undo:
        plain = torch.autograd.backward

        def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            roots = tensors if isinstance(tensors, (list, tuple)) else [tensors]
            if self._mine():
                for root in roots:
                    if isinstance(root, torch.Tensor) and root.numel() == 1:
                        value: Any = self._unscaled.get(id(root), root)
                        with torch.no_grad(), _disable_current_modes():
                            self._seen.append(value.detach().clone())
            return plain(tensors, *args, **kwargs)

        torch.autograd.backward = backward
        return lambda: setattr(torch.autograd, "backward", plain)

    def _watch_scaler(self, scaler: Any) -> list[Undo]:
        """A scaled loss is no loss; and a scaler that skips a step ends it all the same."""
        scale, update = scaler.scale, scaler.update

        def watched_scale(this: Any, outputs: Any) -> Any:
            scaled = scale(this, outputs)
            if isinstance(outputs, torch.Tensor) and scaled is not outputs:
                self._unscaled[id(scaled)] = outputs.detach()
                self.scale = float(this.get_scale())
            return scaled

        def watched_update(this: Any, *args: Any, **kwargs: Any) -> Any:
            done = update(this, *args, **kwargs)
            if self._mine() and self._seen:
                self._scaled()
            return done

        scaler.scale, scaler.update = watched_scale, watched_update
        return [lambda: setattr(scaler, "scale", scale), lambda: setattr(scaler, "update", update)]


def _scalers() -> list[Any]:
    found = [getattr(torch.amp, "GradScaler", torch.cuda.amp.GradScaler)]  # one for all devices since 2.3
    npu = getattr(getattr(getattr(torch, "npu", None), "amp", None), "GradScaler", None)
    return found if npu is None or "scale" not in vars(npu) else [*found, npu]
