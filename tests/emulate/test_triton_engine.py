"""The engine below Triton's language, which needs no Triton: groups of programs, memory, atomics, rewritten text."""

from __future__ import annotations

import inspect
import operator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from jumar.emulate.triton import atomics, lanes
from jumar.emulate.triton.memory import Memory, OutOfBounds, Region
from jumar.emulate.triton.rewrite import rewritten


def _launch(*grid: int, **arrays: Any) -> Any:
    regions = [Region(name, array.ctypes.data, array.nbytes) for name, array in arrays.items()]
    return SimpleNamespace(grid=(*grid, 1, 1)[:3], memory=Memory(regions, "kernel"))


def _addresses(array: Any, places: Any) -> Any:
    return (array.ctypes.data + array.itemsize * np.asarray(places)).astype(np.uint64)


def test_programs_run_together_and_know_their_numbers() -> None:
    seen: list[tuple[Any, ...]] = []

    def body() -> None:
        group = lanes.current()
        seen.extend(zip(*(group.program(axis).tolist() for axis in range(3))))

    assert lanes.run(body, _launch(2, 3, 2)) == 1
    assert seen == [(x, y, z) for x in range(2) for y in range(3) for z in range(2)]


def test_programs_that_part_write_once_each_and_see_what_they_read_before() -> None:
    """Each program adds its number to one cell, reads the cell of its own, then goes one of three ways."""
    total, cells = np.zeros(1, np.int64), np.arange(12, dtype=np.int64)
    launch = _launch(12, total=total, cells=cells)
    ways: list[list[int]] = []

    def body() -> None:
        group = lanes.current()
        number = group.program(0).astype(np.int64)
        where, mine = _addresses(total, np.zeros_like(number)), _addresses(cells, number)
        ones = np.ones(1, bool)
        group.ask(lambda: atomics.update(launch.memory, where, number, ones, total.dtype, np.add))
        read = group.ask(lambda: launch.memory.load(mine, None, None, cells.dtype))
        group.ask(lambda: launch.memory.store(mine, read + 100, None, cells.dtype))
        way = group.agreed(number % 3)
        ways.append([int(way), *read.tolist()])

    assert lanes.run(body, launch) == 3
    assert ways == [[way, *range(way, 12, 3)] for way in range(3)]
    assert total[0] == sum(range(12))
    assert cells.tolist() == list(range(100, 112))


def test_a_group_shrinks_where_its_values_are_large() -> None:
    widths: list[int] = []

    def body() -> None:
        group = lanes.current()
        group.check_size(np.empty((group.width, lanes.MOST_ELEMENTS // 4), np.bool_))
        widths.append(group.width)

    lanes.run(body, _launch(10))
    assert widths == [4, 4, 2]


def test_masked_pointers_may_lead_anywhere() -> None:
    data = np.arange(8, dtype=np.float32)
    memory = _launch(1, data=data).memory
    wild = _addresses(data, [[1, 3, 1 << 40]])
    assert memory.load(wild, np.array([[True, True, False]]), np.array([[-1.0]]), data.dtype).tolist() == [[1, 3, -1]]
    memory.store(wild, np.array([[9.0, 8.0, 7.0]], np.float32), np.array([[True, True, False]]), data.dtype)
    assert data.tolist() == [0, 9, 2, 8, 4, 5, 6, 7]
    assert not memory.strays


def test_a_pointer_into_nothing_names_the_nearest_tensor() -> None:
    data = np.arange(8, dtype=np.float32)
    memory = _launch(1, data=data).memory
    with pytest.raises(OutOfBounds, match=r"`kernel` reads at 0x8, which no tensor holds: .* before `data`"):
        memory.load(np.array([8], np.uint64), None, None, data.dtype)


def test_a_pointer_into_another_tensor_is_noted() -> None:
    both = np.arange(8, dtype=np.float32)
    memory = Memory([Region("first", both.ctypes.data, 16)], "kernel")
    assert memory.load(_addresses(both, [2, 5]), None, None, both.dtype).tolist() == [2, 5]
    assert memory.strays == {"reads": "4 bytes behind the end of `first`"}


def test_numbers_between_two_numbers_are_read() -> None:
    raw = np.arange(16, dtype=np.uint8)
    memory = _launch(1, raw=raw).memory
    found = memory.load((raw.ctypes.data + np.array([1, 5])).astype(np.uint64), None, None, np.dtype(np.uint32))
    assert found.tobytes() == bytes(range(1, 9))


@pytest.mark.parametrize("step", [np.add, np.maximum, np.bitwise_xor, lambda old, new: new])
@pytest.mark.parametrize("targets", [1, 3, 50])
def test_atomics_take_turns(step: Any, targets: int) -> None:
    """Against one element after the other, with few and with many elements for each address."""
    draw = np.random.default_rng(0)
    places, values, mask = draw.integers(0, targets, 60), draw.integers(0, 99, 60), draw.random(60) < 0.8
    data, expected, old = np.full(targets, 5), np.full(targets, 5), np.zeros(60, np.int64)
    for turn, (place, value) in enumerate(zip(places, values)):
        if mask[turn]:
            old[turn], expected[place] = expected[place], step(expected[place], value)
    found = atomics.update(_launch(1, data=data).memory, _addresses(data, places), values, mask, data.dtype, step)
    assert (found == old).all()
    assert (data == expected).all()


_SCALE = 10


def _kernel(x: Any, n: int = 2) -> Any:
    y = x
    for turn in range(n):
        y += turn * _SCALE
        if y > 20 and not turn > 7:
            return -y
    return (y, [y][0])


class _Plain:
    """A runtime in which every operation is Python's own."""

    binary = staticmethod(lambda name, left, right: {"Add": operator.add, "Mult": operator.mul}[name](left, right))
    unary = staticmethod(lambda name, one: -one if name == "USub" else not one)
    compare = staticmethod(lambda names, left, right: left > right)
    logic = staticmethod(lambda name, *operands: all(one() for one in operands))
    item = staticmethod(operator.getitem)
    truth = staticmethod(bool)
    assigned = constant = iterate = staticmethod(lambda one: one)
    call = staticmethod(lambda function, *words: function(*words))


@pytest.mark.parametrize(("x", "n"), [(1, 2), (1, 3), (30, 1)])
def test_rewritten_text_does_what_the_text_does(x: int, n: int) -> None:
    source = inspect.getsource(_kernel)
    kernel = SimpleNamespace(fn=_kernel, src=source)
    function = rewritten(kernel, _Plain())
    assert function(x, n) == _kernel(x, n)
    assert function(x) == _kernel(x)
