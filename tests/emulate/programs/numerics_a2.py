"""A 910B3 with the numerics of a card, judged by NumPy in float64 and by exact sums."""

import numpy as np
import torch
import torch_npu
from torch.nn.functional import conv1d, conv2d, embedding


def hf32(values):
    """12 significant bits, to nearest, ties away from zero: arithmetic on float64, no bits."""
    part, power = np.frexp(np.abs(values.astype(np.float64)))
    with np.errstate(over="ignore"):
        return np.copysign(np.floor(part * 4096 + 0.5) / 4096 * 2.0**power, values).astype(np.float32)


def rounded(tensor):
    return torch.from_numpy(hf32(tensor.numpy()))


def through_convolution(values):
    return conv1d(torch.from_numpy(values)[None, None].npu(), torch.ones(1, 1, 1).npu()).cpu().numpy().ravel()


# Every bit of the format: a kernel of one 1 multiplies nothing away.
random = np.random.default_rng(0)
plain = (random.standard_normal(100_000) * 10.0 ** random.integers(-30, 30, 100_000)).astype(np.float32)
ties = (np.arange(2048, 4096) + 0.5).astype(np.float32)
for values in (plain, ties, -ties, np.float32([0.0, -0.0, 3.4028234e38, -3.4028234e38])):
    assert np.array_equal(through_convolution(values), hf32(values))
odd = through_convolution(np.float32([np.inf, -np.inf, np.nan]))
assert np.isposinf(odd[0]) and np.isneginf(odd[1]) and np.isnan(odd[2])
quiet = np.uint32([0x7FFFFFFF, 0xFFFFFFFF]).view(np.float32)
assert np.isnan(through_convolution(quiet)).all()

# Forward and backward, and the switch.
torch.manual_seed(0)
x, w, bias = torch.randn(3, 4, 9, 9), torch.randn(5, 4, 3, 3), torch.randn(5)
assert torch.equal(conv2d(x.npu(), w.npu(), bias.npu()).cpu(), conv2d(rounded(x), rounded(w), bias))
parts = [one.npu().requires_grad_() for one in (x, w, bias)]
conv2d(*parts).backward(grad := torch.randn(3, 5, 7, 7).npu())
exact = [rounded(x).double().requires_grad_(), rounded(w).double().requires_grad_()]
conv2d(*exact).backward(rounded(grad.cpu()).double())
rough = [x.double().requires_grad_(), w.double().requires_grad_()]
conv2d(*rough).backward(grad.cpu().double())
for card, near, far in zip(parts, exact, rough):
    scale = far.grad.abs().max()
    assert (card.grad.cpu() - near.grad).abs().max() < 2e-6 * scale
    assert (card.grad.cpu() - far.grad).abs().max() > 5e-5 * scale
assert torch.allclose(parts[2].grad.cpu().double(), grad.cpu().double().sum((0, 2, 3)), rtol=1e-5, atol=1e-5)
torch.npu.conv.allow_hf32 = False
assert torch.equal(conv2d(x.npu(), w.npu()).cpu(), conv2d(x, w))
torch.npu.conv.allow_hf32 = True
assert torch.equal(conv2d(x.npu(), w.npu()).cpu(), conv2d(rounded(x), rounded(w)))

# Matrix products keep float32 until a program allows less.
a, b = torch.randn(2, 6, 8), torch.randn(2, 8, 5)
assert torch.equal((a.npu() @ b.npu()).cpu(), a @ b)
torch.npu.matmul.allow_hf32 = True
assert torch.equal((a.npu() @ b.npu()).cpu(), rounded(a) @ rounded(b))
assert torch.equal(
    torch.addmm(bias.npu(), a[0].npu(), b[0].npu()).cpu(), torch.addmm(bias, rounded(a[0]), rounded(b[0]))
)
assert torch.equal(torch.mv(a[0].npu(), b[0, :, 0].npu()).cpu(), torch.mv(rounded(a[0]), rounded(b[0, :, 0])))
torch.npu.matmul.allow_hf32 = False
if hasattr(torch_npu.npu, "CubeMathType"):
    torch.npu.matmul.cube_math_type = torch_npu.npu.CubeMathType.USE_FP16
    assert torch.equal((a.npu() @ b.npu()).cpu(), a.half().float() @ b.half().float())
    torch.npu.matmul.cube_math_type = torch_npu.npu.CubeMathType.KEEP_DTYPE
assert torch.equal((a.npu() @ b.npu()).cpu(), a @ b)


# Half precision: whole numbers, so that float32 holds every sum and one rounding is all there is.
def bfloat16(values):
    bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16 << 16).astype(np.uint32).view(np.float32)


to_half = {torch.float16: lambda sums: sums.astype(np.float16).astype(np.float32), torch.bfloat16: bfloat16}
left, right = random.integers(-8, 9, (16, 3000)), random.integers(-8, 9, (3000, 24))
row = random.integers(-8, 9, 24)
for dtype, narrow in to_half.items():
    lhs, rhs, c = (torch.from_numpy(one.astype(np.float32)).to(dtype).npu() for one in (left, right, row))
    sums = (left @ right).astype(np.float64)
    assert np.array_equal(torch.mm(lhs, rhs).float().cpu().numpy(), narrow(sums))
    assert np.array_equal((lhs[None] @ rhs[None])[0].float().cpu().numpy(), narrow(sums))
    assert np.array_equal(torch.addmm(c, lhs, rhs).float().cpu().numpy(), narrow(sums + row))
    image, kernel = lhs.reshape(1, 16, 3000), rhs[:96].reshape(24, 16, 6)
    wide = conv1d(image.double().cpu(), kernel.double().cpu()).numpy()
    assert np.array_equal(conv1d(image, kernel).float().cpu().numpy(), narrow(wide))

# Open orders: whole numbers come out the same in any order, others do not.
index, rows = torch.randint(0, 4, (600,)), torch.randint(-9, 10, (600, 3)).float()
pair = torch.randint(0, 3, (2, 5, 40))


def sums(device, rows):
    index_, pair_ = index.to(device), pair.to(device)
    rows = rows.to(device)
    zeros = rows.new_zeros
    image = rows[:36].reshape(4, 3, 3, 3).clone().requires_grad_()
    kernel = rows[:4].reshape(4, 3, 1, 1).clone().requires_grad_()
    conv2d(image, kernel).backward(rows[:48].reshape(4, 4, 3, 3))
    table = zeros(4, 3).requires_grad_()
    embedding(index_, table, padding_idx=2).backward(rows)
    return [
        zeros(4, 3).index_add_(0, index_, rows, alpha=2),
        zeros(3, 4).index_add(1, index_, rows.T),
        zeros(3, 3, 3).index_put((pair_[0], pair_[1]), rows[:200].reshape(5, 40, 3), accumulate=True),
        zeros(4, 3).scatter_add(0, index_[:, None].expand(600, 3), rows),
        table.grad,
        image.grad,
        kernel.grad,
    ]


torch.npu.conv.allow_hf32 = False
for card, cpu in zip(sums("npu", rows), sums("cpu", rows)):
    assert torch.equal(card.cpu(), cpu)
odd = torch.randn(600, 3)
first, second = sums("npu", odd), sums("npu", odd)
assert [torch.equal(one, other) for one, other in zip(first, second)] == [False, False, False, True, False, True, False]
for card, cpu in zip(first, sums("cpu", odd.double())):
    assert (card.cpu() - cpu).abs().max() < 1e-4
torch.use_deterministic_algorithms(True)
for card, cpu in zip(sums("npu", odd), sums("cpu", odd)):
    assert torch.equal(card.cpu(), cpu)
