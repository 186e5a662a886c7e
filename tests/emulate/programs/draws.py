import torch

x = torch.ones(8, device="npu")
before = torch.get_rng_state()
draws = [
    lambda: torch.randn(8, device="npu"),
    lambda: torch.randn(8, dtype=torch.int32, device="npu"),
    lambda: torch.randn(8, dtype=torch.bool, device="npu"),
    lambda: torch.randint(0, 99, (8,), device="npu"),
    lambda: torch.randperm(9, device="npu"),
    lambda: torch.bernoulli(x / 2),
    lambda: torch.multinomial(x, 3),
    lambda: torch.normal(x, x),
    lambda: x.clone().uniform_(),
    lambda: x.clone().exponential_(),
    lambda: torch.rand_like(x),
    lambda: torch.nn.functional.dropout(x, 0.5),
    lambda: torch.nn.functional.dropout(x.half(), 0.5),
    lambda: torch.nn.functional.rrelu(-x, training=True),
    lambda: torch.nn.functional.gumbel_softmax(x),
]
for draw in draws:
    torch.npu.manual_seed(11)
    first, second = draw(), draw()
    torch.npu.manual_seed(11)
    assert torch.equal(first, draw()) and torch.equal(second, draw())
assert torch.equal(before, torch.get_rng_state())
torch.manual_seed(1)
first = torch.rand(3, device="npu")
torch.manual_seed(1)
assert torch.equal(first, torch.rand(3, device="npu"))
