"""Before the 910B lists go to torch's loop, which takes float64, and no 3d pooling answers in int32."""

import torch
import torch_npu  # noqa: F401

double = torch.ones(3, dtype=torch.float64).npu()
assert torch._foreach_exp([double, double])[0].dtype == torch.float64
volume = torch.randn(1, 1, 4, 4, 4, device="npu")
assert torch.ops.aten.adaptive_max_pool3d(volume, [2, 2, 2])[1].dtype == torch.int32
