"""A 910A with the numerics of a card: products in float16, overflow that saturates, and the flag that tells of it."""

import numpy as np
import torch
import torch_npu
from torch.nn.functional import conv2d

torch.manual_seed(0)
x, w = torch.randn(2, 3, 8, 8), torch.randn(4, 3, 3, 3)
a, b = torch.randn(6, 8), torch.randn(8, 5)


def half(tensor):
    return torch.from_numpy(tensor.numpy().astype(np.float16).astype(np.float32))


# The cube has no float32: operands are float16, sums and results are not.
assert torch.equal(conv2d(x.npu(), w.npu()).cpu(), conv2d(half(x), half(w)))
assert torch.equal((a.npu() @ b.npu()).cpu(), half(a) @ half(b))
torch.npu.conv.allow_hf32 = False
assert torch.equal(conv2d(x.npu(), w.npu()).cpu(), conv2d(half(x), half(w)))
large = torch.tensor([[1e6]])
assert (large.npu() @ torch.tensor([[2.0]]).npu()).item() == 2 * 65504


def flag():
    return torch_npu.npu.utils.get_npu_overflow_flag()


# What the vendor's page shows, and the flag.
torch_npu.npu.utils.clear_npu_overflow_flag()
y = torch.exp(torch.tensor([1.0, 5.0]).npu())
assert not flag()
assert torch.exp(torch.tensor([12.0]).half().npu()).item() == 65504
assert flag()
torch_npu.npu.utils.clear_npu_overflow_flag()
assert not flag()
assert torch.sqrt(torch.tensor([-1.0]).half().npu()).item() == 0
largest = torch.finfo(torch.float32).max
one = torch.tensor([3e38, -3e38]).npu()
assert (one * 10).tolist() == [largest, -largest]
assert (one.mul_(10)).tolist() == [largest, -largest]
assert torch.add(one, one, out=torch.empty(2).npu()).tolist() == [largest, -largest]
assert torch.stack([one, one]).T.contiguous().T.mul_(2)[0].tolist() == [largest, -largest]
assert torch.tensor([1e6, -1e6]).npu().half().tolist() == [65504, -65504]

# Moving numbers makes none.
kept = torch.tensor([float("inf"), 1.0]).npu()
assert (
    kept.tolist()[0] == float("inf") and kept.clone().isinf()[0] and torch.cat([kept, kept])[2].item() == float("inf")
)
scores = torch.zeros(2, 2).npu().masked_fill(torch.eye(2).bool().npu(), float("-inf"))
assert scores[0, 0].item() == float("-inf")
assert torch.equal(scores.softmax(-1).cpu(), 1 - torch.eye(2))

# A scaler sees the overflow that no longer shows as inf.
weight = torch.nn.Parameter(torch.ones(4).npu())
optimizer = torch.optim.SGD([weight], lr=0.1)
scaler = torch_npu.npu.amp.GradScaler(init_scale=2.0**15)
for size, step in ((1.0, True), (1e6, False)):
    before, scale = weight.detach().clone(), scaler.get_scale()
    loss = (weight.half() * size).sum()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
    assert torch.equal(before, weight.detach()) is not step, (size, weight)
    assert (scaler.get_scale() == scale) is step
