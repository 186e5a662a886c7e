"""The programs of a grid that run together: one lane each, along the first axis of every value.

Programs of a group do the same thing as long as they agree on every branch and on the length of every loop. Where they
do not, lanes sit out: a branch is run for those that take it, a loop until the last one is through (together.py). What
cannot be run that way, a branch that returns for one, parts the group: it is given up, and each part runs from the
start. What memory answered and which way was taken is remembered, so that a part comes to the same place without
reading, writing or counting anything twice.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from jumar.emulate.triton.launch import Launch

FIRST_WIDTH = 4096
"""Programs in a group, before it is known how large their blocks are."""
MOST_ELEMENTS = 1 << 19
"""Elements of one value over all lanes: what fits a processor's cache several times."""
MOST_REMEMBERED = 1 << 29
"""Bytes of answers that a group keeps; it is halved when it needs more."""


class Parted(BaseException):
    """The programs of a group disagree: `which` numbers the part of each lane."""

    def __init__(self, which: Any) -> None:
        super().__init__()
        self.which = which


class Waiting(NamedTuple):
    """Programs that still have to run, and what memory answered them so far."""

    programs: Any
    answers: list[Any]
    lanes: Any
    """Where these programs were in the group that gave the answers."""

    def open(self, launch: Launch) -> Group:
        if self.lanes is None:
            return Group(self.programs, [], launch)
        return Group(self.programs, [_of_lanes(answer, self.lanes) for answer in self.answers], launch)


class Group:
    """Programs that run together."""

    def __init__(self, programs: Any, answers: list[Any], launch: Launch) -> None:
        self.programs, self.answers, self.launch = programs, answers, launch
        self.width = len(programs)
        self.active: Any = None
        """Which lanes take part in what is run now; None stands for all."""
        self.narrowed = False
        """Whether the branch or turn that has just begun leaves out lanes that were there before it."""
        self.largest = 1
        """Elements of the largest block that a program had so far."""
        self._next = 0
        self._bytes = 0

    def ask(self, memory: Callable[[], Any]) -> Any:
        """What memory answers: the first time it is asked, later what it answered then."""
        place, self._next = self._next, self._next + 1
        if place < len(self.answers):
            return self.answers[place]
        answer = memory()
        if self.width > 1:
            self.answers.append(answer)
            self._bytes += getattr(answer, "nbytes", 0)
            if self._bytes > MOST_REMEMBERED:
                self.narrow(self.width // 2)
        return answer

    def agreed(self, values: Any) -> Any:
        """The one value of a scalar that control flow depends on."""
        return self.decide(lambda: self._only(values))

    def decide(self, choose: Callable[[], Any]) -> Any:
        """Which way to go, the same for all lanes; remembered, as a part may have no lane that would choose it."""
        return self.ask(lambda: np.array([choose()]))[0]

    def taking(self, values: Any) -> Any:
        """The values of the lanes that take part."""
        if self.active is None:
            return values
        return values if len(values) == 1 and self.active.any() else self.spread(values)[self.active]

    def spread(self, values: Any) -> Any:
        """One row for each lane."""
        return np.broadcast_to(values, (self.width, *values.shape[1:]))

    def mask(self, given: Any, rank: int) -> Any:
        """A mask of a block that leaves out lanes that do not take part."""
        if self.active is None:
            return given
        active = self.active.reshape(-1, *[1] * rank)
        return active if given is None else active & given

    def part(self, values: Any) -> None:
        """Go on apart, by the values of each lane; the first lane's part goes first."""
        values = self.spread(values)
        _, first, which = np.unique(values, return_index=True, return_inverse=True)
        raise Parted(np.argsort(np.argsort(first))[which.reshape(-1)])

    def _only(self, values: Any) -> Any:
        here = self.taking(values)
        if not len(here):
            return values[0]
        if len(here) > 1 and not (here == here[0]).all():
            self.part(values if self.active is None else np.where(self.active, values, here[0]))
        return here[0]

    def narrow(self, width: int) -> None:
        """Go on with fewer programs at a time."""
        if self.width > 1:
            raise Parted(np.arange(self.width) // max(width, 1))

    def check_size(self, data: Any) -> None:
        elements = data.size
        self.largest = max(self.largest, elements // (len(data) or 1))
        if elements > MOST_ELEMENTS and self.width > 1:
            self.narrow(self.width * MOST_ELEMENTS // elements)

    def program(self, axis: int) -> Any:
        """The number of each program along an axis of the grid; programs are counted with the last axis fastest."""
        rest = self.programs
        for size in self.launch.grid[:axis:-1]:
            rest = rest // size
        return (rest % self.launch.grid[axis]).astype(np.int32)

    def parts(self, which: Any) -> list[Waiting]:
        lanes = [np.flatnonzero(which == part) for part in range(int(which.max()) + 1)]
        return [Waiting(self.programs[one], self.answers, one) for one in lanes]


_here = threading.local()


def current() -> Group:
    """The group that this thread runs."""
    group: Group = _here.group
    return group


def running() -> bool:
    return getattr(_here, "group", None) is not None


def run(body: Callable[[], object], launch: Launch) -> int:
    """Run the body for every program of a grid; the answer is how many groups it took."""
    grid = launch.grid
    total = grid[0] * grid[1] * grid[2]
    starts = range(0, total, FIRST_WIDTH)
    waiting = [Waiting(np.arange(start, min(start + FIRST_WIDTH, total)), [], None) for start in reversed(starts)]
    before, groups = getattr(_here, "group", None), 0
    try:
        while waiting:
            _here.group = group = waiting.pop().open(launch)
            try:
                body()
                groups += 1
            except Parted as parted:
                waiting.extend(reversed(group.parts(parted.which)))
    finally:
        _here.group = before
    return groups


def _of_lanes(answer: Any, lanes: Any) -> Any:
    return answer if answer is None or len(answer) == 1 else answer[lanes]
