import subprocess
import sys
from multiprocessing.reduction import ForkingPickler

import torch
import torch_npu  # noqa: F401

x = torch.arange(6.0).npu()[2:]
data = bytes(ForkingPickler.dumps(x))
other = """
import pickle, sys, torch
y = pickle.load(sys.stdin.buffer)
assert y.device == torch.device("npu:0") and y.tolist() == [2.0, 3.0, 4.0, 5.0]
y.mul_(10)
torch.npu.synchronize()
"""
subprocess.run([sys.executable, "-c", other], input=data, check=True)
assert x.tolist() == [20.0, 30.0, 40.0, 50.0] and (x + 1).sum().item() == 144.0
del x
torch.npu.empty_cache()
assert torch.ones(3).npu().sum().item() == 3
