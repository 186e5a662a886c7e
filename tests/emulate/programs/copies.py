import torch

x = torch.randn(4, 5)
y = x.npu()
assert torch.equal(y.to("npu:1").cpu(), x)
assert torch.equal(y.half().cpu(), x.half())
assert torch.equal(y.t().cpu(), x.t())
assert torch.equal(x.t().npu().cpu(), x.t())
z = torch.zeros(5, 4).npu()
z.copy_(x.t())
assert torch.equal(z.cpu(), x.t())
assert torch.equal(x.pin_memory().npu(non_blocking=True).cpu(), x)
