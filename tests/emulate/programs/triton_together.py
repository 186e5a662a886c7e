"""Kernels whose programs go their own ways, and some that once gave wrong numbers; each against Python."""

import sys

import torch
import triton
import triton.language as tl

found = {}


@triton.jit
def ragged_sums(x, starts, out, BLOCK: tl.constexpr):
    """A loop of another length in each program, with a block that is carried through it."""
    row = tl.program_id(0)
    start, stop = tl.load(starts + row), tl.load(starts + row + 1)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    turns = 0
    for at in range(start, stop, BLOCK):
        places = at + tl.arange(0, BLOCK)
        total += tl.load(x + places, mask=places < stop, other=0.0)
        turns += 1
    tl.store(out + row * 2, tl.sum(total, axis=0))
    tl.store(out + row * 2 + 1, turns.to(tl.float32))


@triton.jit
def searched(table, wanted, out, n):
    """Binary search: a `while` that reads memory."""
    me = tl.program_id(0)
    goal = tl.load(wanted + me)
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        if tl.load(table + middle) < goal:
            low = middle + 1
        else:
            high = middle
    tl.store(out + me, low)


@triton.jit
def halved(value):
    """Two ways to return, called where some programs sit out."""
    if value % 2 == 0:
        return value // 2
    return 3 * value + 1


@triton.jit
def branches(x, out, counts, n):
    """Branches in branches in a loop; stores and atomics on one side only; a program that ends early."""
    me = tl.program_id(0)
    if me == 5:
        return
    value = tl.load(x + me)
    seen = 0
    for turn in range(value % 4):
        if value > turn * 3:
            seen += 1
            if me % 2 == 0:
                tl.atomic_add(counts, 1)
                extra = 10
            else:
                extra = 20
                tl.store(out + n + me, value + turn)
            value = halved(value) + extra
        elif value == 1:
            tl.atomic_add(counts + 1, me)
    seen = seen * 100 if value > 12 else seen - 1
    if value % 3 == 0:
        return
    tl.store(out + me, value * 1000 + seen)


@triton.jit
def counted(total, blocks, BLOCK: tl.constexpr):
    """Every program counts, though all have the same pointer."""
    tl.atomic_add(total, 1)
    tl.atomic_add(blocks + tl.arange(0, BLOCK), 0.5)
    tl.atomic_max(total + 1, tl.num_programs(0))


@triton.jit
def joined(a, b, other_a, other_b):
    """Lines one behind the other: the order matters."""
    return a * other_a, b * other_a + other_b


@triton.jit
def recurrence(a, b, out, N: tl.constexpr, REVERSE: tl.constexpr):
    row = tl.program_id(0)
    places = row * N + tl.arange(0, N)
    _, heights = tl.associative_scan((tl.load(a + places), tl.load(b + places)), 0, joined, reverse=REVERSE)
    tl.store(out + places, heights)
    _, last = tl.reduce((tl.load(a + places), tl.load(b + places)), 0, joined)
    tl.store(out + tl.num_programs(0) * N + row, last)


@triton.jit
def asserted(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    values = tl.load(x + offsets, mask=offsets < n, other=0)
    assert values >= 0 and values < 100, "below a hundred"
    tl.store(out + offsets, values, mask=offsets < n)


@triton.jit
def half_precision(x, y, out, N: tl.constexpr):
    places = tl.arange(0, N)
    a, b = tl.load(x + places), tl.load(y + places)
    tl.store(out + places, a * b + a)
    tl.store(out + N + places, a / b)
    tl.store(out + 2 * N + places, tl.exp(a.to(tl.float32)).to(tl.float16))


def expected_branches(x, programs):
    out, counts = [0] * (2 * programs), [0, 0]
    for me in range(programs):
        if me == 5:
            continue
        value, seen = x[me], 0
        for turn in range(value % 4):
            if value > turn * 3:
                seen += 1
                if me % 2 == 0:
                    counts[0] += 1
                else:
                    out[programs + me] = value + turn
                value = (value // 2 if value % 2 == 0 else 3 * value + 1) + (10 if me % 2 == 0 else 20)
            elif value == 1:
                counts[1] += me
        seen = seen * 100 if value > 12 else seen - 1
        if value % 3:
            out[me] = value * 1000 + seen
    return out, counts


def ways() -> None:
    lengths = torch.tensor([0, 3, 50, 1, 17, 16, 0, 33] * 5)
    starts = torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)]).int().npu()
    x = torch.randn(int(lengths.sum())).npu()
    found["ragged"] = torch.zeros(40, 2).npu()
    ragged_sums[(40,)](x, starts, found["ragged"], BLOCK=16)
    sums = torch.stack([one.sum() for one in x.cpu().split(lengths.tolist())])
    torch.testing.assert_close(found["ragged"][:, 0].cpu(), sums)
    assert found["ragged"][:, 1].tolist() == [-(-int(one) // 16) for one in lengths]

    table = torch.randint(0, 1000, (300,), dtype=torch.int32).sort().values
    wanted = torch.randint(0, 1000, (70,), dtype=torch.int32)
    found["searched"] = torch.zeros(70, dtype=torch.int32).npu()
    searched[(70,)](table.npu(), wanted.npu(), found["searched"], 300)
    assert found["searched"].cpu().tolist() == torch.searchsorted(table, wanted).tolist()

    numbers = torch.randint(0, 40, (64,), dtype=torch.int32)
    found["branches"], found["sides"] = (torch.zeros(size, dtype=torch.int32).npu() for size in (128, 2))
    branches[(64,)](numbers.npu(), found["branches"], found["sides"], 64)
    out, counts = expected_branches(numbers.tolist(), 64)
    assert found["branches"].tolist() == out
    assert found["sides"].tolist() == counts

    found["total"], found["blocks"] = torch.zeros(2, dtype=torch.int32).npu(), torch.zeros(8).npu()
    counted[(11,)](found["total"], found["blocks"], BLOCK=8)
    assert found["total"].tolist() == [11, 11] and found["blocks"].tolist() == [5.5] * 8


def numbers() -> None:
    for size, reverse in ((32, False), (32, True), (1, False)):
        a, b = torch.rand(3, size) + 0.5, torch.randn(3, size)
        out = torch.zeros(3 * size + 3).npu()
        recurrence[(3,)](a.npu(), b.npu(), out, N=size, REVERSE=reverse)
        order = range(size - 1, -1, -1) if reverse else range(size)
        rows, state = torch.zeros(3, size), torch.zeros(3)
        for place, at in enumerate(order):
            state = state * a[:, at] + b[:, at] if place else b[:, at]
            rows[:, at] = state
        torch.testing.assert_close(out[: 3 * size].cpu().view(3, size), rows)
        if not reverse:
            torch.testing.assert_close(out[3 * size :].cpu(), rows[:, -1])

    x, y = (torch.randn(8192).half() + 0.1).npu(), (torch.rand(8192).half() + 0.5).npu()
    found["half"] = torch.zeros(3 * 8192, dtype=torch.float16).npu()
    half_precision[(1,)](x, y, found["half"], N=8192)
    a, b = x.cpu(), y.cpu()
    assert torch.equal(found["half"].cpu()[:8192], (a * b) + a), "rounded at each step"
    assert torch.equal(found["half"].cpu()[8192:16384], (a.float() / b.float()).half())


class Address:
    """What Triton takes for a tensor: an address and a type."""

    dtype = torch.float32

    def __init__(self, tensor):
        self.tensor = tensor

    def data_ptr(self):
        return self.tensor.data_ptr()


def addresses() -> None:
    total, blocks = torch.zeros(2, dtype=torch.int32).npu(), torch.zeros(8).npu()
    counted[(4,)](total, Address(blocks), BLOCK=8)
    assert total.tolist() == [4, 4] and blocks.tolist() == [2.0] * 8


def assertions() -> None:
    values = torch.tensor([1, 200, 3], dtype=torch.int32).npu()
    out = torch.zeros_like(values)
    asserted[(1,)](values, out, 3, BLOCK=4)
    assert out.tolist() == [1, 200, 3], "a card goes on without TRITON_DEBUG"
    kernel = counted[(1,)](torch.zeros(2, dtype=torch.int32).npu(), torch.zeros(8).npu(), BLOCK=8)
    again = torch.zeros(2, dtype=torch.int32).npu()
    kernel[(3, 1, 1)](again, torch.zeros(8).npu())
    assert again.tolist() == [3, 3], "constants of a compiled kernel need not be given again"
    try:
        asserted[(1,)](values, out, 3, BLOCK=4, debug=True)
    except Exception as error:
        assert "below a hundred" in str(error), error
    else:
        raise AssertionError("the assertion was not looked at")


torch.manual_seed(0)
ways()
if len(sys.argv) < 2:
    numbers()
    addresses()
    assertions()
else:
    torch.save({name: one.cpu() for name, one in found.items()}, sys.argv[1])
print("done")
