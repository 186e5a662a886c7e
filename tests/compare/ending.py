"""A training of three steps that ends as it is told."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import torch

how = sys.argv[1]
if how == "once":
    mark = Path(sys.argv[2])
    if mark.exists():
        sys.exit(9)
    mark.touch()
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.Linear(8, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(3, 4)
for step in range(3):
    if step == 1 and how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if step == 1 and how == "leave":
        os._exit(5)
    if step == 2 and how == "raise":
        raise RuntimeError("broken")
    optimizer.zero_grad()
    net(x).square().mean().backward()
    optimizer.step()
if how == "exit":
    sys.exit(7)
