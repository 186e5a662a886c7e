"""Which function computes which operator."""

from __future__ import annotations

import functools
import importlib
import os
from typing import Any, Callable

Kernel = Callable[..., Any]
_KERNELS: dict[str, Kernel] = {}
_TYPES: dict[str, Kernel] = {}
_STEPWISE: set[str] = set()
_TOLD: set[str] = set()
CUSTOM = "Cust"
"""Before the types of MindSpore's own kernels for the device's processor."""
_NOT_FAMILIES = ("__init__", "bridge", "memory", "registry")


class NotEmulated(Exception):
    """A device would compute it; what this says stands behind the name of the operator."""


class Inputs(list):  # type: ignore[type-arg]
    """The inputs of an operator of the older interface; some change what they are given."""

    def __init__(self, values: Any, places: Any) -> None:
        super().__init__(values)
        self._places = places

    def write(self, index: int, value: Any) -> Any:
        """Changes an input; returns the value, for the output that is the same tensor."""
        self._places[index].write(value)
        return value

    def place(self, index: int) -> Any:
        """Where it lies, and its type."""
        return self._places[index]

    def get(self, index: int) -> Any:
        """None where it is not given."""
        return self[index] if index < len(self) else None


class Sized:
    """A result that says how large it is, where the output only has room."""

    def __init__(self, value: Any) -> None:
        self.value = value


def kernel(*names: str, stepwise: bool = False, outputs: bool = False) -> Callable[[Kernel], Kernel]:
    """For operator calls (aclnn): the arguments of the row, without the outputs.

    `stepwise` is for operators that the device computes in float16 step by step: it comes as it is, not as float32.
    `outputs`: they are told, too, as an argument of this name, for results that depend on the type that is asked for.
    """

    def register(function: Kernel) -> Kernel:
        for name in names:
            _KERNELS[name] = function
        _STEPWISE.update(names if stepwise else ())
        _TOLD.update(names if outputs else ())
        return function

    return register


def operator(*types: str) -> Callable[[Kernel], Kernel]:
    """For the older interface: `function(inputs, attributes, outputs)`; the outputs tell their shape and type."""

    def register(function: Kernel) -> Kernel:
        for name in types:
            _TYPES[name] = function
        return function

    return register


def families() -> list[str]:
    """The modules beside this one."""
    names = [entry[:-3] for entry in os.listdir(os.path.dirname(__file__)) if entry.endswith(".py")]
    return sorted(name for name in names if name not in _NOT_FAMILIES)


def find(name: str) -> tuple[Kernel, bool]:
    """The function, and whether it is one of the older interface; loads all families when first asked."""
    _load()
    found = _KERNELS.get(name)
    if found is not None:
        return found, False
    return _TYPES[name if name in _TYPES else name[len(CUSTOM) :]], True


def is_stepwise(name: str) -> bool:
    """Whether it wants float16 as it is; for a name that was found."""
    return name in _STEPWISE


def is_told(name: str) -> bool:
    """Whether it wants to know its outputs; for a name that was found."""
    return name in _TOLD


def names() -> set[str]:
    """Everything that is registered."""
    _load()
    return {*_KERNELS, *_TYPES}


@functools.lru_cache(maxsize=None)  # noqa: UP033  (Python 3.7)
def _load() -> None:
    for family in families():
        importlib.import_module("." + family, __package__)
