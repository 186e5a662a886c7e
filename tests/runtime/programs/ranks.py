"""A rank of torchrun: all of them touch their cards at the same time."""

import os

import torch
import torch.distributed as dist

torch.npu.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("gloo")
dist.barrier()
torch.ones(1, device="npu")
dist.destroy_process_group()
