import torch

x = torch.arange(6.0).npu().reshape(2, 3)
assert x.add_(1) is x
assert x.t().data_ptr() == x.data_ptr()
view = x[0]
view.mul_(10)
assert x[0].cpu().tolist() == [10.0, 20.0, 30.0]
out = torch.empty(0, device="npu")
assert torch.add(x, x, out=out) is out and out.shape == (2, 3)
parts = x.split(1)
parts[1].zero_()
assert x[1].sum().item() == 0
a, b = torch.empty(0, device="npu"), torch.empty(0, device="npu", dtype=torch.long)
torch.max(x, 1, out=(a, b))
assert a.cpu().tolist() == [30.0, 0.0]
assert out.is_contiguous() and x.t().contiguous().is_contiguous()
