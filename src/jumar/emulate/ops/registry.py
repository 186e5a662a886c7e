"""Which NPU-only operators have a reference implementation, and how the glue gets it on first use."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from jumar.emulate.ops.fit import fitted
from jumar.runtime import refusals
from jumar.runtime.refusals import Kind
from jumar.tables import operators

Function = Callable[..., Any]
_F = TypeVar("_F", bound=Function)


class Reference(NamedTuple):
    """The implementation of an NPU-only operator on CPU tensors."""

    function: Function
    source: str
    """The module that has it."""


_TABLE: dict[str, Reference] = {}
_LOADED: set[str] = set()
_LIBRARIES: dict[str, Any] = {}


def operator(*names: str) -> Callable[[_F], _F]:
    """Declares the function as the operator `npu::NAME` or `aten::NAME`; without names, as the `npu` one of its own.

    One that draws from torch's default generator has a row with `random` in data/operators.toml: the generator then has
    the state of the card's during the call.
    """

    def declare(function: _F) -> _F:
        for name in names or (function.__name__,):
            _TABLE[name] = Reference(function, function.__module__.rsplit(".", 1)[-1])
        return function

    return declare


def load(name: str) -> None:
    """Defines `jumar_npu::NAME` (`jumar_aten::NAME` for one of aten) for CPU tensors. Refuses by name."""
    import torch

    if name in _LOADED:
        return
    found = find(name)
    if found is None:
        raise not_implemented(name)
    space = "aten" if name.startswith("aten::") else "npu"
    if space not in _LIBRARIES:
        _LIBRARIES[space] = torch.library.Library(f"jumar_{space}", "FRAGMENT")
    short = name.removeprefix("aten::")
    base, _, overload = short.partition(".")
    schema = torch._C._get_schema(f"{space}::{base}", overload)
    _LIBRARIES[space].define(str(schema).removeprefix(f"{space}::"))
    _LIBRARIES[space].impl(short, _fit(found.function, schema, base), "CPU")
    _LOADED.add(name)


def _fit(function: Function, schema: Any, base: str) -> Function:
    return fitted(function, schema, lambda what: not_emulated(base, what))


def find(name: str) -> Reference | None:
    """The implementation of an operator, its out= and in-place forms made from the plain one."""
    table = implemented()
    if name in table:
        return table[name]
    base, _, overload = name.partition(".")
    if base.endswith("_") and not overload and base[:-1] in table:
        plain = table[base[:-1]]
        return plain._replace(function=_in_place(plain.function))
    if overload == "out" and base in table:
        return table[base]._replace(function=_into(table[base].function))
    return None


@functools.cache
def implemented() -> dict[str, Reference]:
    """All declared operators. Importing the families takes some 50 ms, so it waits for the first one."""
    import jumar.emulate.ops as package

    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    return _TABLE


def not_implemented(name: str) -> NotImplementedError:
    """The error for an operator without an implementation."""
    full = name if name.startswith("aten::") else f"npu::{name}"
    refusals.note(Kind.OPERATOR, full)
    row = operators.carrier(full)
    why = row.why if row is not None and row.carried == "refused" else "is not implemented by the emulator"
    return NotImplementedError(f"{full} {why}; `jumar emulate coverage` lists what is")


def not_emulated(name: str, what: str) -> NotImplementedError:
    """The error for an argument that the operator `npu::NAME` does not handle: "NAME WHAT is not emulated"."""
    refusals.note(Kind.ARGUMENTS, f"npu::{name}")
    return NotImplementedError(f"{name} {what} is not emulated; `jumar emulate coverage` lists what is")


def _in_place(function: Function) -> Function:
    def call(target: Any, *args: Any, **kwargs: Any) -> Any:
        return target.copy_(function(target, *args, **kwargs))

    return call


def _into(function: Function) -> Function:
    def call(*args: Any, out: Any, workspace: Any = None, **kwargs: Any) -> Any:
        results = function(*args, **kwargs)
        if not isinstance(out, list):
            return out.resize_(results.shape).copy_(results)
        for target, result in zip(out, results):
            target.resize_(result.shape).copy_(result)
        return tuple(out)

    return call
