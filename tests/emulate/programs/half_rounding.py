import torch
import torch.nn.functional as F

torch.manual_seed(0)
image, weight = torch.randn(2, 3, 9, 9).half(), torch.randn(4, 3, 3, 3).half()
volume, matrix = torch.randn(1, 2, 4, 4, 4).half(), torch.randn(64, 512).half()
cases = [
    lambda move: F.conv2d(move(image), move(weight)),
    lambda move: move(matrix) @ move(matrix).t(),
    lambda move: F.binary_cross_entropy_with_logits(move(matrix), torch.ones_like(move(matrix))),
    lambda move: F.avg_pool3d(move(volume), 2),
    lambda move: torch.cdist(move(matrix[:8]), move(matrix[8:16])),
    lambda move: F.interpolate(move(image), size=(17, 20), mode="bilinear"),
    lambda move: move(matrix[:5]).prod(0, dtype=move(matrix).dtype),
]
for case in cases:
    wanted, got = case(lambda t: t.float()), case(lambda t: t.npu())
    assert got.dtype == torch.half and torch.equal(got.cpu(), wanted.half())
out = torch.empty(0, dtype=torch.half, device="npu")
assert torch.mm(matrix.npu(), matrix.t().npu(), out=out) is out
assert torch.equal(out.cpu(), (matrix.float() @ matrix.float().t()).half())
for halves in (False, True):
    layer, twin = torch.nn.BatchNorm2d(3), torch.nn.BatchNorm2d(3).npu()
    twin = twin.half() if halves else twin
    x = image.npu().requires_grad_()
    twin(x).sum().backward()
    layer(image.float())
    assert x.grad.dtype == torch.half and twin.weight.grad.dtype == twin.weight.dtype
    assert torch.allclose(twin.running_mean.float().cpu(), layer.running_mean, atol=1e-4)
ones = torch.ones(3).npu()
_, mean, deviation = torch.native_batch_norm(image.npu().float(), ones, ones, ones, ones, False, 0.1, 1e-5)
assert mean.shape == deviation.shape == (3,)
a, b = torch.randn(64).bfloat16(), torch.randn(64).bfloat16()
got = torch._foreach_add([a.npu()], [b.npu()], alpha=5.0)[0]
assert torch.equal(got.cpu(), (a.float() + 5 * b.float()).bfloat16())
