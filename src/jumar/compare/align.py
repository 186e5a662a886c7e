"""Which operator of one run belongs to which of the other: two runs need not call the same ones."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import cache

from jumar.compare.precision import short
from jumar.compare.result import RecordEntry
from jumar.core.compat import zip
from jumar.tables.load import table
from jumar.tables.operator_kinds import is_kind

_LONG = 6000
"""Operators up to which an exact matching of a stretch is affordable."""
Pairs = list[tuple[RecordEntry, RecordEntry]]


def align(a: Sequence[RecordEntry], b: Sequence[RecordEntry]) -> Pairs:
    """Pairs in the order of the first run: operators by sequence, tensors from outside by name or place."""
    pairs = [*_named(a, b)]
    for phase in ("forward", "backward", "optimizer"):
        first, second = (
            [entry for entry in side if entry.phase == phase and entry.kind in ("op", "view")] for side in (a, b)
        )
        found = list(_operators(first, second))
        pairs += [*found, *_reshaped(a, b, first, second, found)]
    return sorted(pairs, key=lambda pair: pair[0].index)


def canonical(op: str) -> str:
    """One name for operators that do the same on different devices, in place or not."""
    if op.startswith("optimizer."):
        return "optimizer"
    plain = short(op)
    return _same_as().get(plain, "") or _same_as().get(plain.rstrip("_"), "") or plain.rstrip("_") or plain


@cache
def _same_as() -> dict[str, str]:
    return {name: group for group, names in table("same_operators.toml")["groups"].items() for name in names}


def _named(a: Sequence[RecordEntry], b: Sequence[RecordEntry]) -> Iterator[tuple[RecordEntry, RecordEntry]]:
    """Weights, buffers, gradients and state by name; inputs by phase, shape and order."""
    waiting: dict[Hashable, list[RecordEntry]] = defaultdict(list)
    for entry in b:
        if entry.kind not in ("op", "view"):
            waiting[_identity(entry)].append(entry)
    for found in waiting.values():
        found.reverse()
    for entry in a:
        if entry.kind not in ("op", "view"):
            found = waiting[_identity(entry)]
            if found:
                yield entry, found.pop()


def _identity(entry: RecordEntry) -> Hashable:
    shape = entry.outs[0].shape if entry.outs else ()
    return (entry.kind, entry.phase, shape) if entry.kind == "input" else (entry.kind, entry.name, entry.phase)


def _operators(a: list[RecordEntry], b: list[RecordEntry]) -> Iterator[tuple[RecordEntry, RecordEntry]]:
    for first, second in _match(a, b, _strict):
        if len(first) == len(second) and first and _strict(first[0]) == _strict(second[0]):
            yield from zip(first, second, strict=True)
        elif first and second:
            for inner, other in _match(first, second, _loose):
                if len(inner) == len(other) and inner and _loose(inner[0]) == _loose(other[0]):
                    yield from zip(inner, other, strict=True)


def _reshaped(
    a: Sequence[RecordEntry],
    b: Sequence[RecordEntry],
    first: list[RecordEntry],
    second: list[RecordEntry],
    found: Pairs,
) -> Iterator[tuple[RecordEntry, RecordEntry]]:
    """Calls at the same place with inputs of the same shapes but results of others: their arguments differ."""
    done, done_there = {one.index for one, _ in found}, {other.index for _, other in found}
    rest = [entry for entry in first if entry.index not in done]
    rest_there = [entry for entry in second if entry.index not in done_there]
    for mine, other in _match(rest, rest_there, _called):
        for one, two in zip(mine, other):
            if _called(one) == _called(two) and _given(a, one) == _given(b, two):
                yield one, two


def _called(entry: RecordEntry) -> Hashable:
    return canonical(entry.op), _inside(entry.module), entry.where


def _given(entries: Sequence[RecordEntry], entry: RecordEntry) -> list[tuple[int, ...]]:
    shapes = entry.shapes or (None,) * len(entry.inputs)
    return [shape if shape is not None else (entries[number].outs[0].shape if entries[number].outs else ())
            for number, shape in zip(entry.inputs, shapes)]  # fmt: skip


def _match(
    a: list[RecordEntry], b: list[RecordEntry], key: Callable[[RecordEntry], Hashable]
) -> Iterator[tuple[list[RecordEntry], list[RecordEntry]]]:
    """Stretches of both runs, equal ones and others, in order."""
    left, right = [key(entry) for entry in a], [key(entry) for entry in b]
    if left == right:
        yield a, b
        return
    rough = max(len(left), len(right)) > _LONG
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, left, right, autojunk=rough).get_opcodes():
        if tag == "equal" or (i2 > i1 and j2 > j1):
            yield a[i1:i2], b[j1:j2]


def _strict(entry: RecordEntry) -> Hashable:
    return canonical(entry.op), _inside(entry.module), entry.outs[0].shape if entry.outs else ()


def _loose(entry: RecordEntry) -> Hashable:
    return canonical(entry.op), entry.outs[0].shape if entry.outs else ()


def _inside(module: str) -> str:
    """The path inside the model: its class may have another name in the other program."""
    return module.partition(".")[2]


def left_over(entries: Sequence[RecordEntry], matched: set[int]) -> list[RecordEntry]:
    """Operators that have no partner."""
    return [entry for entry in entries if entry.kind in ("op", "view") and entry.index not in matched]


def is_quiet(entry: RecordEntry) -> bool:
    """Copies and casts: no news if only one run has them."""
    return is_kind(canonical(entry.op), "reshapes", "copies", "allocations")


def counted(entries: Sequence[RecordEntry]) -> list[str]:
    """`3 x aten.where, first at model.py:31` for each operator; copies and casts are no news."""
    entries = [entry for entry in entries if not is_quiet(entry)]
    count = Counter(entry.op for entry in entries)
    first = {entry.op: entry.where for entry in reversed(entries)}
    return [
        f"{number} x {op.removesuffix('.default')}" + (f", first at {first[op]}" if first[op] else "")
        for op, number in count.most_common()
    ]
