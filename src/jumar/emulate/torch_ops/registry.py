"""Which NPU-only operators have a reference implementation, and how the glue gets it on first use."""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from jumar.emulate.torch_ops.fit import fitted
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


_UNNAMED = re.compile(r"\(\$\d+! -> \)")
_TABLE: dict[str, Reference] = {}
_LOADED: set[str] = set()
_LIBRARIES: dict[str, Any] = {}


def operator(*names: str) -> Callable[[_F], _F]:
    """Declares the function as the operators NAMES, of npu unless they say `aten::` or `atb::`; else as its own name.

    One that draws from torch's default generator has a row with `random` in data/operators.toml: the generator then has
    the state of the card's during the call.
    """

    def declare(function: _F) -> _F:
        for name in names or (function.__name__,):
            _TABLE[name] = Reference(function, function.__module__.rsplit(".", 1)[-1])
        return function

    return declare


def load(name: str) -> None:
    """Defines `jumar_npu::NAME` (`jumar_aten::NAME` for `aten::NAME`) for CPU tensors. Refuses by name."""
    import torch

    if name in _LOADED:
        return
    found = find(name)
    if found is None:
        raise not_implemented(name)
    space, _, short = full_name(name).partition("::")
    if space not in _LIBRARIES:
        _LIBRARIES[space] = torch.library.Library(f"jumar_{space}", "FRAGMENT")
    base, _, overload = short.partition(".")
    schema = torch._C._get_schema(f"{space}::{base}", overload)
    # `Tensor!` is printed with a name that torch itself does not read.
    _LIBRARIES[space].define(_UNNAMED.sub("!", str(schema).removeprefix(f"{space}::")))
    _LIBRARIES[space].impl(short, _fit(found.function, schema, base), "CPU")
    _LOADED.add(name)


def fitting(name: str, schema: Any) -> Function:
    """The implementation of an operator for its schema. Refuses by name."""
    found = find(name.removeprefix("npu::"))
    if found is None:
        raise not_implemented(name)
    return _fit(found.function, schema, schema.name.partition("::")[2])


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
    import jumar.emulate.torch_ops as package

    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    return _TABLE


def full_name(name: str) -> str:
    """With its namespace, which is npu where none is named."""
    return name if "::" in name else f"npu::{name}"


def not_implemented(name: str) -> NotImplementedError:
    """The error for an operator without an implementation."""
    full = full_name(name)
    refusals.note(Kind.OPERATOR, full)
    row = operators.carrier(full)
    why = row.why if row is not None and row.carried == "refused" else "is not implemented by the emulator"
    return NotImplementedError(f"{full} {why}; `jumar emulate coverage` lists what is")


def not_emulated(name: str, what: str) -> NotImplementedError:
    """The error for an argument that the operator `npu::NAME` does not handle: "NAME WHAT is not emulated"."""
    refusals.note(Kind.ARGUMENTS, full_name(name))
    return NotImplementedError(f"{name} {what} is not emulated; `jumar emulate coverage` lists what is")


def _in_place(function: Function) -> Function:
    def call(target: Any, *args: Any, **kwargs: Any) -> Any:
        return target.copy_(function(target, *args, **kwargs))

    return call


def _into(function: Function) -> Function:
    """The form that writes into tensors of the caller: `out`, or those the plain form has no arguments for."""
    known = inspect.signature(function).parameters

    def call(*args: Any, workspace: Any = None, **kwargs: Any) -> Any:
        if "out" in kwargs:
            given = kwargs.pop("out")
        else:
            given = [kwargs.pop(name) for name in list(kwargs) if name not in known]
        results = function(*args, **kwargs)
        if not isinstance(results, tuple):
            return _write(given[0] if isinstance(given, list) else given, results)
        return tuple(_write(target, result) for target, result in zip(given, results))

    return call


def _write(target: Any, result: Any) -> Any:
    """A result that was not asked for is empty: what the caller gave for it stays as it is."""
    return target.resize_(result.shape).copy_(result) if result.numel() else target
