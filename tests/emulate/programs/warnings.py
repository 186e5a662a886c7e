"""Each of these is said once: ToKernelNpu.cpp:40, ArgSortKernelNpuOpApi.cpp:25 and the check of GradScaler,
AmpForeachNonFiniteCheckAndUnscaleKernelNpuOpApi.cpp:132. What torch_npu computes on the CPU it says through torch:
AdaptiveMaxPool3dKernelNpuOpApi.cpp:67, AdaptiveMaxPool3dKernelNpuOpApi.cpp:39,
AdaptiveMaxPool3dBackwardKernelNpuOpApi.cpp:65 and AdaptiveMaxPool3dBackwardKernelNpuOpApi.cpp:39."""

import torch
import torch_npu  # noqa: F401
from torch.nn import functional

weight = torch.ones(3, device="npu", requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.5)
scaler = torch.amp.GradScaler("npu", init_scale=1024.0)
for _ in range(2):
    scaler.scale((weight * 2).sum()).backward()
    scaler.step(optimizer)  # divides by the scale, which it inverts in double
    scaler.update()
    optimizer.zero_grad()
    assert torch.arange(3, device="npu").argsort().dtype == torch.int64
assert torch.equal(weight.detach().cpu(), torch.full((3,), -1.0))

pool, back = torch.ops.aten.adaptive_max_pool3d, torch.ops.aten.adaptive_max_pool3d_backward
volume = torch.randn(1, 1, 4, 4, 4, dtype=torch.float64).npu()
for _ in range(2):
    out, places = functional.adaptive_max_pool3d(volume, 2, return_indices=True)
    pool.out(volume, [2, 2, 2], out=torch.empty_like(out), indices=torch.empty_like(places))
    grad = back(out, volume, places)
    back.grad_input(out, volume, places, grad_input=torch.empty_like(grad))
assert grad.dtype == torch.float64 and grad.count_nonzero() == 8
