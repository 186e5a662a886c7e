"""Fits an implementation to the schema of the installed torch_npu.

The implementations follow the newest release. An older one has fewer arguments and results, or another order of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

Refuse = Callable[[str], Exception]


def fitted(function: Callable[..., Any], schema: Any, refuse: Refuse) -> Callable[..., Any]:
    """The function as the schema calls it; `refuse` makes the error for an argument that it does not know."""
    names = [argument.name for argument in schema.arguments]
    count = len(schema.returns)
    takes = _by_order(function, names) or _by_name(function, schema, refuse)
    left_out = _other_defaults(function, schema)

    def call(*args: Any, **kwargs: Any) -> Any:
        unsaid = {name: value for name, value in left_out.items() if name not in names[: len(args)]}
        return _first(takes(*args, **{**unsaid, **kwargs}), count, refuse)

    return call


def _other_defaults(function: Callable[..., Any], schema: Any) -> dict[str, Any]:
    """What the schema means where nothing is said, if the function means something else.

    torch leaves an argument out that equals its default, even when the program said it.
    """
    parameters = inspect.signature(function).parameters
    found = {}
    for item in schema.arguments:
        own = parameters.get(item.name)
        if own is not None and item.has_default_value() and not _same(own.default, item.default_value):
            found[item.name] = item.default_value
    return found


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return list(one) == list(other)
    return bool(one == other)


def _by_order(function: Callable[..., Any], names: list[str]) -> Callable[..., Any] | None:
    """The function itself, where its parameters begin as the schema does, or where it takes whatever comes."""
    parameters = inspect.signature(function).parameters
    loose = any(item.kind in (item.VAR_POSITIONAL, item.VAR_KEYWORD) for item in parameters.values())
    return function if loose or list(parameters)[: len(names)] == names else None


def _by_name(function: Callable[..., Any], schema: Any, refuse: Refuse) -> Callable[..., Any]:
    known = list(inspect.signature(function).parameters)
    arguments = list(schema.arguments)
    # Some parameters are named otherwise: where both sides have as many, the order says which is which.
    same = len(known) == len(arguments)
    target = {item.name: known[at] if same else item.name for at, item in enumerate(arguments)}

    def call(*args: Any, **kwargs: Any) -> Any:
        given = {item.name: value for item, value in zip(arguments, args)}
        given.update(kwargs)
        for item in arguments:
            strange = target[item.name] not in known and item.name in given
            if strange and given.pop(item.name) != item.default_value:
                raise refuse(f"with `{item.name}`")
        return function(**{target[name]: value for name, value in given.items()})

    return call


def _first(results: Any, count: int, refuse: Refuse) -> Any:
    """As many results as the schema has; torch reads beyond the end of a tuple that is too short."""
    if not isinstance(results, tuple) or count == len(results):
        return results
    if count > len(results):
        raise refuse(f"with {count} results")
    return results[:count] if count > 1 else results[0] if count else None
