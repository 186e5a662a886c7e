import copy

import torch

torch.manual_seed(0)
x = torch.randn(4, 3, 5)
mean, invstd = torch.batch_norm_stats(x.npu(), 1e-5)
assert torch.allclose(mean.cpu(), x.mean((0, 2))) and torch.allclose(
    invstd.cpu(), 1 / (x.var((0, 2), unbiased=False) + 1e-5).sqrt()
)
y = torch.batch_norm_elemt(x.npu(), None, None, mean, invstd, 1e-5)
assert torch.allclose(y.cpu(), torch.nn.functional.batch_norm(x, None, None, training=True), atol=1e-6)
parts = [torch.batch_norm_stats(part.npu(), 1e-5) for part in x.split((1, 3))]
counts = torch.tensor([5.0, 15.0]).npu()
running = torch.zeros(3).npu(), torch.ones(3).npu()
whole = torch.batch_norm_gather_stats_with_counts(
    x.npu(), torch.stack([m for m, _ in parts]), torch.stack([s for _, s in parts]), *running, 0.1, 1e-5, counts
)
assert torch.allclose(whole[0], mean, atol=1e-6) and torch.allclose(whole[1], invstd, atol=1e-4)
assert torch.allclose(running[0].cpu(), 0.1 * x.mean((0, 2)), atol=1e-6)
half = torch.ones(2, 2, dtype=torch.half).npu()
assert torch.mm(half, half, out_dtype=torch.float32).dtype == torch.float32

sequence = torch.randn(7, 3, 4)
for kind in (torch.nn.LSTM, torch.nn.GRU):
    layer = kind(4, 5, 2)
    twin = copy.deepcopy(layer).npu()
    wanted, got = layer(sequence)[0], twin(sequence.npu())[0]
    wanted.sum().backward()
    got.sum().backward()
    assert torch.allclose(got.cpu(), wanted, atol=1e-6)
    assert torch.allclose(twin.weight_hh_l0.grad.cpu(), layer.weight_hh_l0.grad, atol=1e-5)
