"""Kernels of many kinds on npu tensors; what they write goes to a file, to be compared with another way to run them."""

import sys

import torch
import triton
import triton.language as tl

found = {}


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask), mask=mask)


@triton.jit
def softmax(x_ptr, out_ptr, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + offsets, mask=offsets < columns, other=-float("inf"))
    numerator = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * stride + offsets, numerator / tl.sum(numerator, axis=0), mask=offsets < columns)


@triton.jit
def product(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(tl.cdiv(K, BK)):
        inner = k * BK + tl.arange(0, BK)
        left = tl.load(
            a + rows[:, None] * K + inner[None, :], mask=(rows < M)[:, None] & (inner < K)[None, :], other=0.0
        )
        right = tl.load(
            b + inner[:, None] * N + columns[None, :], mask=(inner < K)[:, None] & (columns < N)[None, :], other=0.0
        )
        total += tl.dot(left, right)
    tl.store(c + rows[:, None] * N + columns[None, :], total, mask=(rows < M)[:, None] & (columns < N)[None, :])


@triton.jit
def through_block_pointers(x, out, M, N, BM: tl.constexpr, BN: tl.constexpr):
    start = tl.program_id(0) * BM
    source = tl.make_block_ptr(x, (M, N), (N, 1), (start, 0), (BM, BN), (1, 0))
    target = tl.make_block_ptr(out, (N, M), (M, 1), (0, start), (BN, BM), (1, 0))
    for _ in range(0, N, BN):
        block = tl.load(source, boundary_check=(0, 1))
        tl.store(target, tl.trans(block) * 2, boundary_check=(0, 1))
        source = tl.advance(source, (0, BN))
        target = tl.advance(target, (BN, 0))


@triton.jit
def collatz(out, longest, n):
    """Programs that part: each has as many turns as its number needs."""
    me = tl.program_id(0)
    if me >= n:
        return
    value = me + 1
    turns = 0
    while value != 1:
        value = tl.where(value % 2 == 0, value // 2, 3 * value + 1)
        turns += 1
    tl.store(out + me, turns)
    tl.atomic_max(longest, turns)


@triton.jit
def triangle(out, n):
    """Loops of another length, and of another beginning, in each program."""
    me = tl.program_id(0)
    total = 0
    for i in range(me, n):
        total += i
    for i in range(me, me + 3):
        total += i * 100
    tl.store(out + me, total)


@triton.jit
def counted(x, bins, order, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + offsets, mask=offsets < n, other=0)
    old = tl.atomic_add(bins + values, 1, mask=offsets < n)
    tl.store(order + offsets, old, mask=offsets < n)


@triton.jit
def larger(value, place, other, other_place):
    first = (value > other) | ((value == other) & (place < other_place))
    return tl.where(first, value, other), tl.where(first, place, other_place)


@triton.jit
def reductions(x, out, N: tl.constexpr):
    row = tl.program_id(0)
    values = tl.load(x + row * N + tl.arange(0, N))
    best, where = tl.reduce((values, tl.arange(0, N)), 0, larger)
    tl.store(out + row * 4, best)
    tl.store(out + row * 4 + 1, where.to(tl.float32))
    tl.store(out + row * 4 + 2, tl.argmin(values, axis=0).to(tl.float32))
    tl.store(out + row * 4 + 3, tl.sum(tl.cumsum(values, axis=0), axis=0))


@triton.jit
def locked(lock, total):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(total, tl.load(total) * 2 + 1)
    tl.atomic_xchg(lock, 0)


@triton.autotune([triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128}, num_warps=8)], key=["n"])
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def scaled(x, out, n, factor, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(out + offsets, tl.load(x + offsets) * factor)
    else:
        tl.store(out + offsets, tl.load(x + offsets, mask=offsets < n) * factor, mask=offsets < n)


def main() -> None:
    torch.manual_seed(0)
    x, y = torch.randn(3000).to("npu"), torch.randn(3000).to("npu")
    out = torch.zeros_like(x)
    add[lambda meta: (triton.cdiv(3000, meta["BLOCK"]),)](x, y, out, 3000, BLOCK=256, num_warps=4)
    torch.testing.assert_close(out, x + y)
    found["add"] = out

    table = torch.randn(70, 100).to("npu")
    found["softmax"] = torch.zeros_like(table)
    softmax[(70,)](table, found["softmax"], 100, 100, BLOCK=128)
    torch.testing.assert_close(found["softmax"], table.softmax(-1))

    a, b = torch.randn(70, 50).to("npu"), torch.randn(50, 90).to("npu")
    found["product"] = torch.zeros(70, 90, device="npu")
    product[(triton.cdiv(70, 32), triton.cdiv(90, 16))](a, b, found["product"], 70, 90, 50, BM=32, BN=16, BK=16)
    torch.testing.assert_close(found["product"], a @ b, rtol=1e-4, atol=1e-4)

    if int(triton.__version__.split(".")[1]) < 8:  # later versions have tensor descriptors only
        found["turned"] = torch.zeros(50, 70, device="npu")
        through_block_pointers[(triton.cdiv(70, 32),)](a, found["turned"], 70, 50, BM=32, BN=16)
        torch.testing.assert_close(found["turned"], a.T * 2)

    found["collatz"], found["longest"] = (
        torch.zeros(30, dtype=torch.int32).to("npu"),
        torch.zeros(1, dtype=torch.int32).to("npu"),
    )
    collatz[(40,)](found["collatz"], found["longest"], 30)
    assert found["collatz"].max() == found["longest"] == 111, found

    found["triangle"] = torch.zeros(9, dtype=torch.int32).to("npu")
    triangle[(9,)](found["triangle"], 9)
    assert found["triangle"].tolist() == [sum(range(me, 9)) + 300 * me + 300 for me in range(9)]

    numbers = torch.randint(0, 7, (500,), dtype=torch.int32).to("npu")
    found["bins"], found["order"] = (
        torch.zeros(7, dtype=torch.int32).to("npu"),
        torch.zeros(500, dtype=torch.int32).to("npu"),
    )
    counted[(4,)](numbers, found["bins"], found["order"], 500, BLOCK=128)
    assert found["bins"].cpu().tolist() == torch.bincount(numbers.cpu()).tolist()

    found["reductions"] = torch.zeros(70, 4, device="npu")
    square = torch.randn(70, 64).to("npu")
    reductions[(70,)](square, found["reductions"], N=64)
    torch.testing.assert_close(found["reductions"][:, 0], square.max(-1).values)
    assert (found["reductions"][:, 1] == square.argmax(-1)).all()

    found["locked"] = torch.zeros(1, dtype=torch.int32).to("npu")
    locked[(20,)](torch.zeros(1, dtype=torch.int32).to("npu"), found["locked"])
    assert found["locked"].item() == 2**20 - 1

    found["scaled"] = torch.zeros_like(x)
    scaled[lambda meta: (triton.cdiv(3000, meta["BLOCK"]),)](x, found["scaled"], 3000, 0.5)
    torch.testing.assert_close(found["scaled"], x / 2)

    torch.save({name: one.cpu() for name, one in found.items()}, sys.argv[1])


main()
