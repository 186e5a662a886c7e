import torch
from torch.nn.functional import silu
from torch.utils.data import DataLoader

model = torch.nn.Linear(32, 32)
adam = torch.optim.Adam([torch.nn.Parameter(torch.ones(8)) for _ in range(8)] + list(model.parameters()), foreach=False)
for batch in DataLoader(torch.randn(24, 32), batch_size=4):
    x = model(batch)
    y = silu(x) * x
    z = y.double().cos().float()
    adam.zero_grad()
    z.sum().backward()
    for group in adam.param_groups[0]["params"]:
        group.grad = torch.zeros_like(group) if group.grad is None else group.grad
    adam.step()
    if z.mean().item() > 100:
        print("你好", z)
    chosen = torch.nn.functional.gelu(z)[z > 0]
    best = z.argmax()
    far = torch.digamma(z)
print("done")
