"""Prints what open orders of sums gave."""

import torch

torch.manual_seed(0)
index, rows = torch.randint(0, 4, (2000,)), torch.randn(2000)
for _ in range(2):
    print(torch.zeros(4).npu().index_add_(0, index.npu(), rows.npu()).tolist())
