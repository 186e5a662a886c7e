import sys

import torch

x = torch.randn(4, 4, device="cuda", requires_grad=True)
(x @ x).sum().backward()
torch.linalg.eigvalsh((x.t() @ x).detach())
print(x.grad.device, sys.argv[1:], sys.stdin.readline().strip())
sys.exit(int(sys.argv[1]))
