"""A parent that computes on the CPU with threads, then forks; the child uses a card."""

import os
import signal
import sys

import torch
import torch_npu  # noqa: F401

torch.set_num_threads(2)
for _ in range(3):
    torch.rand(1024, 1024).exp().sum()
child = os.fork()
if child == 0:
    signal.alarm(200)
    x = torch.ones(512, 512, device="npu")
    assert float((x @ x).sum()) == 512**3
    print("child computed", flush=True)
    sys.exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
