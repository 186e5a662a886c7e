"""Which arguments of two calls differ; what only says where and how a tensor is stored does not count."""

from __future__ import annotations

from typing import Any

from jumar.compare.precision import LARGEST
from jumar.compare.result import RecordEntry

_STORAGE = {"dtype", "device", "layout", "pin_memory", "memory_format", "non_blocking", "generator", "out", "stride",
            "storage_offset", "copy", "output_mask", "cudnn_enable", "impl_index", "seed", "offset", "foreach", "fused",
            "capturable", "differentiable"}  # fmt: skip
_LIMITS = frozenset(LARGEST.values())
"""The lowest value of float32 and that of float16 hide the same places."""
_LOOSE = 0.05
"""Numbers that a program computed from its data may differ by this much."""


def differ(first: RecordEntry, second: RecordEntry) -> tuple[str, ...]:
    """`name: old -> new` for each argument of two calls of one operator."""
    is_optimizer = first.op.startswith("optimizer.") and second.op.startswith("optimizer.")
    if not is_optimizer and first.op.rsplit(".", 1)[0].rstrip("_") != second.op.rsplit(".", 1)[0].rstrip("_"):
        return ()
    names = [name for name in {**first.args, **second.args} if name not in _STORAGE]
    if is_optimizer:  # another class of the same kind, such as a fused one, may have settings of its own
        names = [name for name in names if name in first.args and name in second.args]
    values = [(name, first.args.get(name), second.args.get(name)) for name in names]
    rank = len(first.outs[0].shape) if first.outs else 0
    return tuple(
        f"{name}: {old} -> {new}"
        for name, old, new in values
        if not (_same(old, new) or (name.startswith("dim") and _same_axis(old, new, rank)))
    )


def _same_axis(a: Any, b: Any, rank: int) -> bool:
    """-1 and the number of the last axis are one; a reduction had an axis more than its result."""
    return isinstance(a, int) and isinstance(b, int) and a * b <= 0 and abs(a - b) in (rank, rank + 1)


def _same(a: Any, b: Any) -> bool:
    if any(isinstance(value, str) and value.startswith(("$", "torch.", "<")) for value in (a, b)):
        return True
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, (float, int)) and isinstance(b, (float, int)) and not isinstance(a, bool):
        return _close(float(a), float(b))
    return bool(a == b)


def _close(a: float, b: float) -> bool:
    """Numbers that somebody wrote must be equal; long ones may come out of the data."""
    if a == b or (a * b > 0 and abs(a) in _LIMITS and abs(b) in _LIMITS):
        return True
    written = float(f"{a:.6g}") == a and float(f"{b:.6g}") == b
    return not written and abs(a - b) <= _LOOSE * max(abs(a), abs(b))
