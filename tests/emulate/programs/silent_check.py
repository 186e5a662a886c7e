import torch
import torch_npu

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1)).npu()
x = torch.randn(16, 4).npu()
for _ in range(4):
    net(x).square().mean().backward()
print("steps done")
try:
    (net(x).square().mean() * float("inf")).backward()
    torch.npu.synchronize()
    print("went on")
except RuntimeError as error:
    print("507018" in str(error))
step, average, grad = torch.zeros(1, dtype=torch.int64).npu(), torch.zeros(1).npu(), torch.ones(3).npu()
found = []
for value in (1.0, 1.2, 0.8, 300.0, 1e9):
    now = torch.tensor([value]).npu()
    found.append(torch_npu._npu_silent_check_v3(now, grad, step, now, average, 1e6, 1e2, 0.99, 1).item())
print(found, step.item())
