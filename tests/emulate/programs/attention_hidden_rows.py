"""A row that its mask hides as a whole: the mean of all values, or zero where `inner_precise` asks for it."""

import torch
import torch_npu

torch.manual_seed(0)
query, key, value = (torch.randn(1, 2, 4, 8).npu().requires_grad_() for _ in range(3))
mask = torch.tril(torch.ones(4, 4, dtype=torch.bool)).npu()


def attend(precise: int) -> torch.Tensor:
    return torch_npu.npu_fusion_attention(
        query, key, value, 2, "BNSD", atten_mask=mask, scale=0.3, inner_precise=precise
    )[0]


even, zero = attend(0), attend(2)
torch.testing.assert_close(even[:, :, 3], value.mean(2), rtol=1e-4, atol=1e-5)
assert (zero[:, :, 3] == 0).all()
torch.testing.assert_close(even[:, :, :3], zero[:, :, :3])
(of_even,) = torch.autograd.grad(even[:, :, 3].sum(), value)
torch.testing.assert_close(of_even, torch.full_like(value, 0.25))
(of_zero,) = torch.autograd.grad(zero[:, :, 3].sum(), value)
assert (of_zero == 0).all()
