"""A short training for tools/versions.py to record with `jumar compare record`."""

import torch
import torch_npu  # noqa: F401
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1)).npu()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
inputs = torch.randn(16, 8).npu()
for _ in range(3):
    optimizer.zero_grad()
    model(inputs).pow(2).mean().backward()
    optimizer.step()
