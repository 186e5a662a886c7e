import torch
from torch.nn import functional as F

cases = [
    (torch.matmul, (2, 3, 4), (2, 4, 5)),
    (torch.matmul, (2, 3, 4), (4, 5)),
    (lambda a, b: F.linear(a, b), (2, 3, 4), (5, 4)),
    (F.binary_cross_entropy_with_logits, (3, 4), (3, 4)),
    (lambda a, b: torch.where(a > 0, a, b), (5,), (5,)),
]
for function, *shapes in cases:
    host = [torch.randn(shape).requires_grad_() for shape in shapes]
    card = [tensor.detach().npu().requires_grad_() for tensor in host]
    for inputs in (host, card):
        function(*inputs).sum().backward()
    for ours, theirs in zip(host, card, strict=True):
        assert torch.equal(ours.grad, theirs.grad.cpu()), function
# The gradient of repeats is added up in one kernel and rounded once.
counts, x = torch.tensor([300, 0, 500]), torch.randn(3, 4).half()
leaf, weights = x.npu().requires_grad_(), torch.randn(800, 4).half()
torch.repeat_interleave(leaf, counts.npu(), 0).backward(weights.npu())
sums = torch.stack([part.float().sum(0) for part in weights.split(counts.tolist())])
torch.testing.assert_close(leaf.grad.cpu(), sums.half(), rtol=1e-3, atol=1e-3)
