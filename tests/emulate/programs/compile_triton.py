"""A program's own Triton kernels inside compiled functions, with code of inductor around them."""

from __future__ import annotations

import torch
import torch_npu  # noqa: F401
import triton
import triton.language as tl


@triton.jit
def scaled(x_ptr, y_ptr, out_ptr, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    x, y = tl.load(x_ptr + at, mask=mask), tl.load(y_ptr + at, mask=mask)
    tl.store(out_ptr + at, x * factor + y, mask=mask)


@triton.autotune([triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], key=["n"])
@triton.jit
def doubled(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)


def run(x, y):
    x, out, twice = x.sin(), torch.empty_like(x), torch.empty_like(x)
    n = x.numel()
    scaled[(triton.cdiv(n, 128),)](x, y, out, n, 3, BLOCK=128)
    doubled[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](out, twice, n)
    return twice + 1


for dynamic, sizes in ((False, (1000,)), (True, (300, 777))):
    torch._dynamo.reset()
    compiled = torch.compile(run, fullgraph=True, dynamic=dynamic)
    for size in sizes:
        x, y = torch.randn(size).npu(), torch.randn(size).npu()
        print(dynamic, size, torch.allclose(compiled(x, y), (x.sin() * 3 + y) * 2 + 1, atol=1e-5))
