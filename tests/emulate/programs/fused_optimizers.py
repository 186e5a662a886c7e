import copy
import warnings

import torch
import torch_npu  # noqa: F401
from torch import nn
from torch_npu import optim

warnings.simplefilter("ignore")
torch.manual_seed(0)
pairs = [
    (optim.NpuFusedAdam, torch.optim.Adam, {}),
    (optim.NpuFusedAdamW, torch.optim.AdamW, {"weight_decay": 0.1}),
    (optim.NpuFusedSGD, torch.optim.SGD, {"momentum": 0.9}),
    (optim.NpuFusedRMSprop, torch.optim.RMSprop, {}),
    (optim.NpuFusedLamb, None, {}),
]
for fused, plain, options in pairs:
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    twin = copy.deepcopy(model).npu()
    x = torch.randn(5, 4)
    runs = [(twin, fused(twin.parameters(), lr=0.01, **options), x.npu())]
    if plain is not None:
        runs.append((model, plain(model.parameters(), lr=0.01, **options), x))
    for _ in range(3):
        for network, optimizer, data in runs:
            optimizer.zero_grad()
            network(data).square().sum().backward()
            optimizer.step()
    if plain is not None:
        for ours, theirs in zip(twin.parameters(), model.parameters(), strict=True):
            torch.testing.assert_close(ours.cpu(), theirs)
