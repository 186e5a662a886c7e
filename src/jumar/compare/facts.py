"""Constant facts about operators, and which of them have no numbers of their own."""

from __future__ import annotations

from typing import Any

_PLAIN_COPIES = {"aten.clone.default", "aten.contiguous.default", "aten._to_copy.default", "aten.lift_fresh.default",
                 "aten._unsafe_view.default"}  # fmt: skip
_EMPTY = ("aten.empty", "aten.new_empty", "aten.resize_", "aten.set_")
_SILENT = ("profiler.", "prim.", "aten.is_same_size", "aten._local_scalar_dense")
"""Questions about a tensor, and the profiler's marks."""
_WRITES = ("copy_", "fill_", "zero_", "normal_", "uniform_", "bernoulli_", "random_", "exponential_", "resize_", "set_")
"""In-place operators that do not look at what was there before: it may be anything."""
_PAIRED = ("send", "recv", "isend", "irecv")
"""Messages between two ranks: waiting for one before the other is sent would never end."""
SIMPLE = frozenset({bool, int, float, str})


class Facts:
    """Of one overload."""

    __slots__ = (
        "changed",
        "defaults",
        "is_collective",
        "is_copy",
        "is_empty",
        "is_silent",
        "is_view",
        "name",
        "names",
        "written",
    )  # fmt: skip

    def __init__(self, func: Any) -> None:
        schema = func._schema
        self.name = str(func)
        self.names = [argument.name for argument in schema.arguments]
        given = {argument.name: argument.default_value for argument in schema.arguments}
        self.defaults = {name: value for name, value in given.items() if type(value) in SIMPLE}
        aliased = [one for one in schema.arguments if one.alias_info is not None]
        changed = [one for one in aliased if one.alias_info.is_write]
        self.is_view = bool(aliased) and not changed  # `is_view` and `is_write` are newer than 2.1
        self.is_copy = self.name in _PLAIN_COPIES
        self.is_empty = self.name.startswith(_EMPTY)
        self.changed = [one.name for one in changed]
        plain = self.name.split(".")[1]
        self.written = {one.name for one in changed if one.is_out or plain in _WRITES}
        """Arguments that are written and not read."""
        self.is_silent = self.name.startswith(_SILENT)
        self.is_collective = self.name.startswith("c10d.") and not plain.startswith(_PAIRED)
