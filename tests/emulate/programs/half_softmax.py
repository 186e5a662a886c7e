import torch

x = torch.randn(3, 5).half()
y = torch._softmax(x.npu(), 1, True)
assert torch.equal(y.cpu(), x.float().softmax(1))
assert torch.equal(torch._log_softmax(x.npu(), 1, True).cpu(), x.float().log_softmax(1))
leaf = x.npu().requires_grad_()
torch.softmax(leaf, 1, dtype=torch.float32).square().sum().backward()
twin = x.float().requires_grad_()
twin.softmax(1).square().sum().backward()
assert torch.equal(leaf.grad.cpu(), twin.grad.half())
gradient = torch.ops.aten._softmax_backward_data(2 * y, y, 1, torch.half)
assert gradient.dtype == torch.half and torch.equal(gradient.cpu(), twin.grad.half())
