"""What the emulated card says to Triton programs: its properties, refusals and warnings, hooks, bfloat16, autograd."""

import torch
import triton
import triton.language as tl
from triton.runtime import driver

properties = driver.active.utils.get_device_properties(torch.npu.current_device())
assert (properties["num_aicore"], properties["num_vectorcore"]) == (20, 40), properties
assert driver.active.get_current_target().backend == "npu"
listed = [one.driver for one in triton.backends.backends.values() if one.driver and one.driver.is_active()]
assert listed == [type(driver.active)], "programs that count active drivers find one"


@triton.jit
def square(x_ptr, out_ptr, n, BLOCK: tl.constexpr = 64):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, x * x, mask=offsets < n)


@triton.jit
def hyperbolic(x_ptr, out_ptr, SIZE: tl.constexpr):
    """A block of any size, and a function that only triton-ascend has in tl.math."""
    offsets = tl.arange(0, SIZE)
    tl.store(out_ptr + offsets, tl.math.tanh(tl.load(x_ptr + offsets)))


@triton.jit
def counter(total):
    tl.atomic_add(total, 1)


def refused(call, *words):
    try:
        call()
    except Exception as error:
        text = " ".join([str(error), *getattr(error, "__notes__", ())])
        assert all(word in text for word in words), text
        return
    raise AssertionError(f"not refused: {words}")


x = torch.randn(100).to("npu", torch.bfloat16)
out = torch.zeros_like(x)
kernel = square[(2,)](x, out, 100, num_warps=4, num_stages=2, multibuffer=True)
assert torch.equal(out.cpu(), x.cpu() * x.cpu()), "bfloat16 is rounded once"
kernel[(2,)](x * 2, out, 100)
assert torch.equal(out.cpu(), (x.cpu() * 2) * (x.cpu() * 2))
assert square.warmup(x, out, 100, grid=(2,)).name == "square"

curve = torch.randn(100).to("npu")
out_of_curve = torch.zeros_like(curve)
hyperbolic[(1,)](curve, out_of_curve, SIZE=100)
torch.testing.assert_close(out_of_curve, curve.tanh())

from tbe.common.platform import get_soc_spec  # noqa: E402 a vendor's module that only the emulator has

assert get_soc_spec("UB_SIZE") == 196608

total = torch.zeros(1, dtype=torch.int32, device="npu")
refused(lambda: counter[(70000,)](total), "coreDim=70000", "65,535", "TRITON_ALL_BLOCKS_PARALLEL")
refused(lambda: square[(2,)](x, out, 100, num_wraps=4), "num_wraps", "unrecognised")
refused(lambda: square[(2,)](x.cpu(), out, 100), "Pointer argument (at 0)")
eight = torch.zeros(64, dtype=torch.int8, device="npu").view(torch.float8_e5m2)
refused(lambda: square[(1,)](eight, eight, 64), "fp8")

counter[(10,)](torch.zeros(1, dtype=torch.int64, device="npu"))
huge = torch.zeros(1 << 17, device="npu")
square[(1,)](huge, huge, 1 << 17, BLOCK=1 << 17)
tail = torch.zeros(1000, device="npu")[:64]
square[(17,)](tail, tail, 1088)


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        out = torch.empty_like(x)
        square[(triton.cdiv(x.numel(), 64),)](x, out, x.numel())
        return out

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad * ctx.saved_tensors[0]


w = torch.randn(100).to("npu").requires_grad_()
Square.apply(w).sum().backward()
torch.testing.assert_close(w.grad, 2 * w.detach())

milliseconds = triton.testing.do_bench(lambda: square[(2,)](x, out, 100), warmup=1, rep=2)
assert milliseconds > 0


@torch.library.triton_op("jumar_test::square", mutates_args=())
def squared(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    torch.library.wrap_triton(square)[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
    return out


torch.testing.assert_close(squared(w.detach()), w.detach() ** 2)
print("done")
