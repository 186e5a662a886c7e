"""What does not change between two calls of an operator, and which ones carry no numbers of their own."""

from __future__ import annotations

from typing import Any

_PLAIN_COPIES = {"aten.clone.default", "aten.contiguous.default", "aten._to_copy.default", "aten.lift_fresh.default",
                 "aten._unsafe_view.default"}  # fmt: skip
_EMPTY = ("aten.empty", "aten.new_empty", "aten.resize_", "aten.set_")
_SILENT = ("profiler.", "prim.", "aten.is_same_size", "aten._local_scalar_dense")
"""Questions about a tensor, and the profiler's marks."""
_PAIRED = ("send", "recv", "isend", "irecv")
"""Messages between two ranks: waiting for one before the other is sent would never end."""
SIMPLE = frozenset({bool, int, float, str})


class Facts:
    """Of one overload."""

    __slots__ = ("defaults", "is_collective", "is_copy", "is_empty", "is_silent", "is_view", "mutates", "name", "names")

    def __init__(self, func: Any) -> None:
        schema = func._schema
        self.name = str(func)
        self.names = [argument.name for argument in schema.arguments]
        given = {argument.name: argument.default_value for argument in schema.arguments}
        self.defaults = {name: value for name, value in given.items() if type(value) in SIMPLE}
        self.is_view = bool(func.is_view)
        self.is_copy = self.name in _PLAIN_COPIES
        self.is_empty = self.name.startswith(_EMPTY)
        self.mutates = bool(schema.is_mutable)
        self.is_silent = self.name.startswith(_SILENT)
        self.is_collective = self.name.startswith("c10d.") and not self.name.split(".")[1].startswith(_PAIRED)
