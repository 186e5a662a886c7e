"""Loss, metrics, optimizer state and a mixed-precision optimizer with float64 on the card."""

import torch
import torch_npu  # noqa: F401

torch.manual_seed(0)
model = torch.nn.Linear(4, 1).npu().double()
assert model.weight.dtype == torch.float32
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 20)
x, y = torch.randn(8, 4, device="npu"), torch.randn(8, 1, device="npu")
losses = []
for _ in range(20):
    optimizer.zero_grad(set_to_none=False)
    loss = torch.nn.functional.mse_loss(model(x), y).double()
    loss.backward()
    optimizer.step()
    scheduler.step()
    losses.append(loss.item())
assert loss.dtype == torch.float32 and losses[-1] < losses[0]
assert all(t.dtype == torch.float32 for state in optimizer.state.values() for t in state.values())

# A sum of many float32 numbers in "double" is as coarse as in float32.
many = torch.cat([torch.full((1,), 2.0**24), torch.ones(1)]).npu()
assert many.double().sum().item() == 2.0**24 and many.cpu().double().sum().item() == 2.0**24 + 1

# What ZeRO-3 of DeepSpeed does with gradient norms: the sum of squares in double, put where a float is awaited.
norm = torch.zeros(1, dtype=torch.float32, device="npu")
norm += sum(p.grad.data.double().norm(2) ** 2 for p in model.parameters())
stacked = torch.stack([p.grad.data.double().norm(2) for p in model.parameters()])
assert norm.dtype == stacked.dtype == torch.float32
torch.distributed.init_process_group("hccl", init_method="tcp://127.0.0.1:29613", rank=0, world_size=1)
torch.distributed.all_reduce(stacked)

# Parameters that came from the host in float64 stay so, and the fused loops of optimizers refuse them.
double = torch.nn.Parameter(torch.ones(3, dtype=torch.float64).npu())
double.grad = torch.ones_like(double)
try:
    torch.optim.Adam([double], foreach=True).step()
    raise SystemExit("Adam took float64")
except RuntimeError as error:
    assert str(error).startswith("input must be half, float"), error
torch.optim.Adam([double], foreach=False).step()
assert double.dtype == torch.float64
