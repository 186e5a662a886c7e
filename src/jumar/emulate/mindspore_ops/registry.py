"""Which function computes which operator."""

from __future__ import annotations

import functools
import importlib
import inspect
import os
from typing import Any, Callable, NamedTuple, TypeVar

Function = Callable[..., Any]
_F = TypeVar("_F", bound=Function)
CUSTOM = "Cust"
"""Before the types of MindSpore's own kernels for the device's processor."""
_NOT_FAMILIES = ("__init__", "bridge", "memory", "registry")
_LIBRARIES = ("numpy", "scipy")


class NotEmulated(Exception):
    """A device would compute it; what this says stands behind the name of the operator."""


class Inputs(list):  # type: ignore[type-arg]
    """A list of tensors; some operators change what they are given."""

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


class Operator(NamedTuple):
    """A binding: the function, and what it is given."""

    function: Function
    stepwise: bool
    """float16 as it is, not as float32: the device computes it step by step."""
    by_name: bool
    """Arguments by the names of the row, not in its order, as functions of numpy and scipy take them."""
    wants_outputs: bool
    """Where results go, too, as `outputs`: their shapes and types."""

    def __call__(self, arguments: dict[str, Any], outputs: list[Any]) -> Any:
        extra = {"outputs": outputs} if self.wants_outputs else {}
        if self.by_name:
            return self.function(**arguments, **extra)
        return self.function(*arguments.values(), **extra)


_OPERATORS: dict[str, Operator] = {}


def operator(*names: str, stepwise: bool = False, by_order: bool = False) -> Callable[[_F], _F]:
    """Declares the function as the operators NAMES: calls (`aclnnAddRmsNorm`) and types (`ApplyAdam`).

    Its parameters are those of their rows in native/api but for the outputs, which it returns values for. `by_order` is
    for rows that are those of a native kernel, with names of its own.
    """

    def declare(function: _F) -> _F:
        for name in names:
            _OPERATORS[name] = _bound(function, stepwise, by_order)
        return function

    return declare


def _bound(function: Function, stepwise: bool, by_order: bool) -> Operator:
    is_own = inspect.isfunction(getattr(function, "func", function))  # also of a partial
    parameters = inspect.signature(function).parameters if is_own else {}
    by_name = inspect.isfunction(function) and function.__module__.split(".")[0] not in _LIBRARIES and not by_order
    by_name = by_name and all(one.kind is not one.VAR_POSITIONAL for one in parameters.values())
    return Operator(function, stepwise, by_name, "outputs" in parameters)


def families() -> list[str]:
    """The modules beside this one."""
    names = [entry[:-3] for entry in os.listdir(os.path.dirname(__file__)) if entry.endswith(".py")]
    return sorted(name for name in names if name not in _NOT_FAMILIES)


def find(name: str) -> Operator:
    """The binding of an operator; loads all families when first asked."""
    table = operators()
    return table[name if name in table else name[len(CUSTOM) :]]


@functools.lru_cache(maxsize=None)  # noqa: UP033  (Python 3.7)
def operators() -> dict[str, Operator]:
    """Everything that is declared."""
    for family in families():
        importlib.import_module("." + family, __package__)
    return _OPERATORS
