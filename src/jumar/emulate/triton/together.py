"""Branches and loops that programs of a group leave at different places: lanes sit out what is not theirs.

A lane that sits out computes along; loads and stores leave it out, and at the end of a branch or turn its names mean
what they meant before. This is what a graphics card does with its threads. Whether a loop is run this way or the
group parts is a question of cost: one turn costs as many calls of numpy for one program as for a hundred.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime.interpreter import TensorHandle

from jumar.emulate.triton import lanes
from jumar.emulate.triton.access import Window
from jumar.emulate.triton.numbers import value, wide

MISSING = object()
_CALL = 10_000
"""What a call of numpy costs, in elements that it could compute meanwhile."""
_MERGING = 1.5
"""What a turn costs more in which lanes sit out: what they had is put back."""
_BEGINNING = 20
"""Calls that a part repeats to come to the place where its group parted."""
_PATIENCE = 1000
"""Turns without a lane that leaves, after which those inside may wait for those outside."""


class Loop:
    """The turns of `range`: `turns` says for each lane how many, `number` what the loop variable is in one."""

    def __init__(self, turns: Any, number: Callable[[int], Any]) -> None:
        self._turns, self._number = turns, number

    def __iter__(self) -> Iterator[Any]:
        """For bodies that cannot be run for some lanes only."""
        return map(self._number, range(int(lanes.current().agreed(self._turns))))

    def together(self) -> Iterator[Any]:
        group, wanted = lanes.current(), self._turns
        outer = group.active
        for turn in range(int(group.decide(lambda: _most(group, wanted)))):
            _let(group, outer, wanted > turn)
            yield self._number(turn)
        group.active = outer


def plain(given: Iterable[Any]) -> Iterator[Any]:
    """What all lanes do alike."""
    group = lanes.current()
    for one in given:
        group.narrowed = False
        yield one


def sides(truth: Any, other: bool) -> Iterator[bool]:
    """The sides of a branch, each with the lanes that take it; without `other` there is nothing to do on the second."""
    group = lanes.current()
    outer = group.active
    way = _decided(group, truth)
    for side in (True, False):
        if way == side or (way > 1 and (side or other)):
            _let(group, outer, truth == side, always=way > 1)
            yield side
    group.active = outer


def turns(test: Callable[[], Any]) -> Iterator[None]:
    """The turns of `while`."""
    group = lanes.current()
    outer, inside, same = group.active, group.active, 0
    while True:
        truth = test()
        if isinstance(truth, bool):
            if not truth:
                break
            truth = np.array([truth])
        way = _decided(group, truth)
        if not way:
            break
        same = same + 1 if way == 1 and inside is not outer else 0
        if same > _PATIENCE and not inside.all():
            raise lanes.Parted(inside.astype(np.int64))
        _let(group, inside, truth, always=way > 1)
        inside = group.active
        group.narrowed = inside is not outer
        yield
        group.active = inside
    group.active = outer


def kept(now: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """What names mean before lanes sit out."""
    return {name: now[name] for name in names if name in now}


def merged(old: Any, new: Any) -> Any:
    """The new value for lanes that take part, the old one for those that sit out."""
    if old is new or old is MISSING:
        return new
    if isinstance(old, tl.tensor) and isinstance(new, tl.tensor):
        return tl.tensor(_merged_handles(old.handle, new.handle), new.type)
    if isinstance(old, Window) and isinstance(new, Window):
        return _merged_windows(old, new)
    if type(old) is type(new) and type(new).__name__ == "tuple" and len(old) == len(new):
        return type(new)([merged(*pair) for pair in zip(old, new)])
    return new


def _most(group: lanes.Group, wanted: Any) -> int:
    """Turns of the lane that has most, if it is cheaper to wait for it than to part."""
    counts, each = np.unique(np.maximum(group.taking(wanted), 0), return_counts=True)
    if len(counts) < 2:
        return int(counts[0]) if len(counts) else 0
    waiting = counts[-1] * (_CALL + _MERGING * each.sum() * group.largest)
    parting = (counts * (_CALL + each * group.largest)).sum() + len(counts) * _BEGINNING * _CALL
    if parting < waiting:
        group.part(wanted if group.active is None else np.where(group.active, wanted, counts[0]))
    return int(counts[-1])


def _decided(group: lanes.Group, truth: Any) -> int:
    """0 if no lane goes inside, 1 if all do, 2 if some do."""

    def way() -> int:
        here = group.taking(truth)
        return 0 if not here.any() else 1 if here.all() else 2

    return int(group.decide(way))


def _let(group: lanes.Group, outer: Any, taking: Any, *, always: bool = False) -> None:
    """From here on, only those lanes of `outer` take part that want to."""
    group.narrowed = always or not taking.all()
    group.active = outer
    if group.narrowed:
        wanted = np.array(group.spread(taking))
        group.active = wanted if outer is None else outer & wanted


def _merged_handles(old: Any, new: Any) -> Any:
    if isinstance(new, Window):
        return _merged_windows(old, new)
    if old is new:
        return new
    if old.dtype.scalar == new.dtype.scalar:
        found = TensorHandle(_taken(new.data, old.data), new.dtype)
    else:
        found = value(_taken(wide(new), wide(old)), new.dtype)
    if hasattr(new, "attr"):
        found.attr.update(new.attr)
    return found


def _taken(new: Any, old: Any) -> Any:
    """A scalar beside a block is one for each of its elements."""
    rank = max(new.ndim, old.ndim)
    new, old = (one if one.ndim == rank else one.reshape(-1, *[1] * (rank - 1)) for one in (new, old))
    return np.where(lanes.current().active.reshape(-1, *[1] * (rank - 1)), new, old)


def _merged_windows(old: Window, new: Window) -> Window:
    if new.offsets is None or old.offsets is None:
        return new
    offsets = [_merged_handles(*pair) for pair in zip(old.offsets, new.offsets)]
    return Window(_merged_handles(old.base, new.base), new.shape, new.strides, offsets, new.block, new.padding)
