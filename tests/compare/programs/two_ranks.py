import os
import sys

import torch
import torch.distributed as dist

rank = int(os.environ["RANK"])
dist.init_process_group("gloo", init_method="file://" + sys.argv[1], rank=rank, world_size=2)
torch.manual_seed(0)
net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 2))
torch.manual_seed(dist.get_rank())
opt = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.randn(3, 4)).sum().backward()
opt.step()
dist.destroy_process_group()
