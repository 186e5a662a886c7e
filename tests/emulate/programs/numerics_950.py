"""A 950 with the numerics of a card: subnormal numbers count as 0 in six operators, and nowhere else."""

import numpy as np
import torch

small = torch.tensor([1e-40, -1e-40, 1.0])
tiny = float(np.finfo(np.float32).tiny)
card = small.npu()
assert (card / 1.0).tolist() == [0.0, -0.0, 1.0] and np.signbit((card / 1.0).cpu().numpy()).tolist() == [
    False,
    True,
    False,
]
assert (torch.tensor([tiny]).npu() / 2).item() == 0
assert torch.div(torch.tensor([1.0]).npu(), card[:1]).item() == float("inf")
assert torch.exp(torch.tensor([-88.0, -90.0, 0.0]).npu()).tolist()[1:] == [0.0, 1.0]
assert torch.log(card).tolist()[0] == float("-inf")
assert torch.sqrt(card).tolist()[0] == 0 and torch.rsqrt(card).tolist()[0] == float("inf")
assert torch.reciprocal(torch.tensor([3e38]).npu()).item() == 0
assert card.clone().sqrt_().tolist()[2] == 1
assert torch.equal((card + 0).cpu(), small) and torch.equal((card * 1).cpu(), small)
half = torch.tensor([6e-8, 1.0]).half()
assert (half.npu() / 1).tolist() == [0.0, 1.0] and torch.equal((half.npu() + 0).cpu(), half)
assert torch.equal(card.cpu(), small)
index, rows = torch.randint(0, 3, (500,)).npu(), torch.randn(500).npu()
first, second = (torch.zeros(3).npu().scatter_add(0, index, rows) for _ in range(2))
assert not torch.equal(first, second)
assert torch.allclose(first, second, atol=1e-4)
