import os
import sys

import torch
import torch.distributed as dist

card = sys.argv[1] == "npu"
if card:
    import torch_npu  # noqa: F401

    torch.npu.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("hccl" if card else "gloo")
rank = dist.get_rank()
torch.manual_seed(0)
device = "npu" if card else "cpu"
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4)).to(device)
if "wrong" in sys.argv and rank == 1:
    net[1] = torch.nn.LeakyReLU(0.2)
model = torch.nn.parallel.DistributedDataParallel(net)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
torch.manual_seed(rank)
for _ in range(2):
    optimizer.zero_grad()
    model(torch.randn(6, 8).to(device)).square().mean().backward()
    optimizer.step()
dist.destroy_process_group()
