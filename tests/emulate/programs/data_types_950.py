"""The 950 answers in int64 where older chips answer in int32; float64 is refused and narrowed all the same."""

import torch
import torch_npu  # noqa: F401

volume = torch.randn(1, 1, 4, 4, 4, device="npu")
assert torch.ops.aten.adaptive_max_pool3d(volume, [2, 2, 2])[1].dtype == torch.int64
assert volume.double().dtype == torch.float32
# Float64 is computed on the host here too (AdaptiveMaxPool3dKernelNpuOpApi.cpp:67).
wide = torch.randn(1, 1, 4, 4, 4, dtype=torch.float64).npu()
assert [t.dtype for t in torch.ops.aten.adaptive_max_pool3d(wide, [2, 2, 2])] == [torch.float64, torch.int64]
