"""Who owns the card's memory: modules, parameters, gradients and optimizer state, told to the ledger as they appear."""

from __future__ import annotations

import sys
import weakref
from typing import Any

from jumar.emulate.dry import load, values

MODULE, GROUP, GRADIENT, STATE, COMMUNICATION, BUFFER = 1, 2, 4, 8, 16, 32
"""Bits of an allocation: parameter of a module, of an optimizer, …; collectives set theirs in C++ (collective.cpp)."""


class Watch:
    """The hooks of one process."""

    def __init__(self, steps: int) -> None:
        self.limit = steps
        self.done = 0
        self._updated = False
        self._depth = 0
        self._numbers: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._library = load.library()
        self._kind: Any = None

    def install(self) -> None:
        from torch.nn.modules import module
        from torch.optim import optimizer

        self._kind = module.Module
        module.register_module_forward_pre_hook(self.enter)
        module.register_module_forward_hook(self.leave, always_call=True)
        optimizer.register_optimizer_step_pre_hook(self.before_update)
        optimizer.register_optimizer_step_post_hook(self.after_update)

    def enter(self, module: Any, _: Any) -> None:
        number = self._numbers.get(module)
        if number is None:
            number = self._name(module)
        if not self._depth:
            self._begin(module)
        for parameter in module._parameters.values():
            self.mark(parameter, MODULE)
        self._depth += 1
        self._library.jumar_dry_enter(number)

    def leave(self, *_: Any) -> None:
        self._depth = max(0, self._depth - 1)
        self._library.jumar_dry_leave()

    def before_update(self, optimizer: Any, *_: Any) -> None:
        self._library.jumar_dry_updating(1)
        for parameter in _parameters(optimizer):
            self.mark(parameter, GROUP)
            self.mark(parameter.grad, GRADIENT)

    def after_update(self, optimizer: Any, *_: Any) -> None:
        self._library.jumar_dry_updating(0)
        self._updated = True
        for state in optimizer.state.values():
            for value in state.values() if isinstance(state, dict) else ():
                self.mark(value, STATE)

    def mark(self, tensor: Any, owner: int) -> None:
        local = getattr(tensor, "_local_tensor", tensor)
        if local is None or not hasattr(local, "untyped_storage") or local.device.type == "cpu":
            return
        try:
            self._library.jumar_dry_mark(local.untyped_storage().data_ptr(), owner)
        except (RuntimeError, NotImplementedError):  # a tensor without memory of its own
            return

    def end(self) -> None:
        """The program is over; what began after the last update is no step."""
        if self._updated:
            self._close()

    def _begin(self, root: Any) -> None:
        """A forward pass of a whole model; the first one after an update ends the step before it."""
        if self._updated:
            self._close()
            if self.limit and self.done >= self.limit:
                sys.exit(0)
        kind = self._kind  # a program's module may have an attribute `buffers` of its own (Megatron's has)
        for parameter in kind.parameters(root):
            self.mark(parameter, MODULE)
            self.mark(parameter.grad, GRADIENT)
            self.mark(getattr(parameter, "main_grad", None), GRADIENT)
        for buffer in kind.buffers(root):
            self.mark(buffer, BUFFER)

    def _close(self) -> None:
        self._updated = False
        self.done += 1
        self._library.jumar_dry_end_step()
        values.looks().next_step()

    def _name(self, module: Any) -> int:
        for name, part in self._kind.named_modules(module):
            if part not in self._numbers:
                self._numbers[part] = load.number(name or type(module).__name__)
        return self._numbers[module]


def _parameters(optimizer: Any) -> list[Any]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]
