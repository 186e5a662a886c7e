import torch
import torch_npu

before = torch.npu.memory_allocated()
x = torch.randn(256, 512).npu()
y = torch_npu.npu_swiglu(x)
assert y.device.type == "npu" and torch.npu.memory_allocated() - before >= x.nbytes + y.nbytes
cache = torch.zeros(2, 4, 8).npu()
rows = torch.ones(2, 1, 8).npu()
assert torch_npu.scatter_update_(cache, torch.tensor([1, 3]).npu(), rows, -2).data_ptr() == cache.data_ptr()
assert cache[0, 1].sum() == 8 and cache[1, 3].sum() == 8 and cache.sum() == 16
out = torch.empty(0).npu()
torch_npu.npu_broadcast(torch.ones(3).npu(), (2, 3), out=out)
assert out.shape == (2, 3)
