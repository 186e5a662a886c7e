"""Each of these is said once: ToKernelNpu.cpp:40, ArgSortKernelNpuOpApi.cpp:25 and the check of GradScaler,
AmpForeachNonFiniteCheckAndUnscaleKernelNpuOpApi.cpp:132."""

import torch
import torch_npu  # noqa: F401

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
