"""A kernel that is wrong with one of its configurations."""

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": size}) for size in (128, 64, 32)], key=["n"])
@triton.jit
def half(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    factor = 0.5 if BLOCK > 32 else 0.25
    tl.store(out + offsets, tl.load(x + offsets, mask=offsets < n) * factor, mask=offsets < n)


x = torch.randn(1000).to("npu")
out = torch.zeros_like(x)
half[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](x, out, 1000)
torch.testing.assert_close(out, x / 2)
