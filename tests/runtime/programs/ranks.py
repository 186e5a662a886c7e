"""A rank of torchrun: all of them touch their cards at the same time."""

import os
import time

import torch
from torch.distributed.rendezvous import rendezvous

torch.npu.set_device(int(os.environ["LOCAL_RANK"]))
store, _, world = next(iter(rendezvous("env://")))
store.add("here", 1)
while store.add("here", 0) < world:
    time.sleep(0.01)
torch.ones(1, device="npu")
