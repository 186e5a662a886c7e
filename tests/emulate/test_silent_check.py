"""torch_npu's search for silent errors (NPU_ASD_ENABLE): its own hooks and operators, on the stand-ins' kernels."""

from __future__ import annotations

from running import Run

_TRAINING = """
import torch, torch_npu
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
"""


def test_a_gradient_that_is_no_number_stops_the_training(run: Run) -> None:
    done = run(_TRAINING, NPU_ASD_ENABLE="2")
    assert done.stdout == "steps done\nTrue\n[0, 0, 0, 2, 1] 5\n"
    assert "silent check: fault (L1), value " in done.stderr
