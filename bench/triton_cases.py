"""The kernels of bench/triton_kernels.py: what training libraries write in Triton, each with torch's own way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import triton
import triton.language as tl

ROWS = COLUMNS = 2048
SIDE = 512
BLOCK = 64
Run = Callable[[int], object]


@triton.jit
def rms_norm(x_ptr, w_ptr, out_ptr, columns, eps, SIZE: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, SIZE)
    x = tl.load(x_ptr + row * columns + offsets, mask=offsets < columns, other=0.0)
    scale = 1 / tl.sqrt(tl.sum(x * x, axis=0) / columns + eps)
    w = tl.load(w_ptr + offsets, mask=offsets < columns, other=0.0)
    tl.store(out_ptr + row * columns + offsets, x * scale * w, mask=offsets < columns)


@triton.jit
def softmax(x_ptr, out_ptr, columns, SIZE: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, SIZE)
    x = tl.load(x_ptr + row * columns + offsets, mask=offsets < columns, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * columns + offsets, e / tl.sum(e, axis=0), mask=offsets < columns)


@triton.jit
def cross_entropy(x_ptr, target_ptr, loss_ptr, columns, SIZE: tl.constexpr):
    """One pass over the row in blocks, with a running maximum."""
    row = tl.program_id(0)
    most = -float("inf")
    total = 0.0
    for start in range(0, columns, SIZE):
        offsets = start + tl.arange(0, SIZE)
        x = tl.load(x_ptr + row * columns + offsets, mask=offsets < columns, other=-float("inf"))
        larger = tl.maximum(most, tl.max(x, axis=0))
        total = total * tl.exp(most - larger) + tl.sum(tl.exp(x - larger), axis=0)
        most = larger
    right = tl.load(x_ptr + row * columns + tl.load(target_ptr + row))
    tl.store(loss_ptr + row, most + tl.log(total) - right)


@triton.jit
def product(a, b, c, n, SIZE: tl.constexpr):
    tiles = n // SIZE
    rows = tl.program_id(0) // tiles * SIZE + tl.arange(0, SIZE)
    columns = tl.program_id(0) % tiles * SIZE + tl.arange(0, SIZE)
    total = tl.zeros((SIZE, SIZE), dtype=tl.float32)
    for start in range(0, n, SIZE):
        inner = start + tl.arange(0, SIZE)
        left = tl.load(a + rows[:, None] * n + inner[None, :])
        total += tl.dot(left, tl.load(b + inner[:, None] * n + columns[None, :]))
    tl.store(c + rows[:, None] * n + columns[None, :], total)


@triton.jit
def ragged_sums(x, starts, out, SIZE: tl.constexpr):
    """As many turns as the row of a program is long: sequences of a batch without padding."""
    row = tl.program_id(0)
    stop = tl.load(starts + row + 1)
    total = tl.zeros((SIZE,), dtype=tl.float32)
    for at in range(tl.load(starts + row), stop, SIZE):
        places = at + tl.arange(0, SIZE)
        total += tl.load(x + places, mask=places < stop, other=0.0)
    tl.store(out + row, tl.sum(total, axis=0))


def cases() -> dict[str, tuple[Run, Callable[[], Any]]]:
    """By name: the kernel over one of `share` parts of its grid, and torch's way to the same numbers."""
    torch.manual_seed(0)
    x, w = torch.randn(ROWS, COLUMNS).to("npu"), torch.randn(COLUMNS).to("npu")
    out, loss = torch.empty_like(x), torch.empty(ROWS, device="npu")
    target = torch.randint(0, COLUMNS, (ROWS,), dtype=torch.int32).to("npu")
    a, b, c = (torch.randn(SIDE, SIDE).to("npu") for _ in range(3))
    long, tiles = target.long(), SIDE // BLOCK
    lengths = torch.randint(0, 2 * COLUMNS, (SIDE,))
    starts = torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)]).int().to("npu")
    flat, sums = x.flatten(), torch.empty(SIDE, device="npu")
    pieces = lengths.tolist()
    return {
        "RMSNorm, 2048 x 2048": (
            lambda share: rms_norm[(ROWS // share,)](x, w, out, COLUMNS, 1e-6, SIZE=COLUMNS),
            lambda: torch.nn.functional.rms_norm(x, (COLUMNS,), w, 1e-6),
        ),
        "softmax, 2048 x 2048": (
            lambda share: softmax[(ROWS // share,)](x, out, COLUMNS, SIZE=COLUMNS),
            lambda: x.softmax(-1),
        ),
        "cross entropy, 2048 x 2048": (
            lambda share: cross_entropy[(ROWS // share,)](x, target, loss, COLUMNS, SIZE=1024),
            lambda: torch.nn.functional.cross_entropy(x, long, reduction="none"),
        ),
        "matmul, 512 x 512 x 512": (
            lambda share: product[(tiles * tiles // share,)](a, b, c, SIDE, SIZE=BLOCK),
            lambda: a @ b,
        ),
        "sums of 512 ragged rows": (
            lambda share: ragged_sums[(SIDE // share,)](flat, starts, sums, SIZE=64),
            lambda: torch.stack([piece.sum() for piece in flat[: sum(pieces)].split(pieces)]),
        ),
    }
