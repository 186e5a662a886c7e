import copy
import os

import torch

torch.manual_seed(0)
table = torch.nn.Embedding(10, 4, sparse=True)
twin = copy.deepcopy(table).npu()
indices = torch.tensor([1, 2, 1, 5])
for network, where in ((table, indices), (twin, indices.npu())):
    optimizer = getattr(torch.optim, os.environ["OPTIMIZER"])(network.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        network(where).pow(2).sum().backward()
        optimizer.step()
assert twin.weight.grad.is_sparse and twin.weight.grad._nnz() == 4
ours, theirs = twin.weight.grad.coalesce(), table.weight.grad.coalesce()
assert torch.equal(ours.indices().cpu(), theirs.indices()) and torch.equal(ours.values().cpu(), theirs.values())
assert torch.equal(twin.weight.cpu(), table.weight)
