import torch

torch.npu.manual_seed(3)
state = torch.npu.get_rng_state()
first = torch.rand(4, device="npu").cpu()
before = torch.get_rng_state()
second = torch.rand(4, device="npu").cpu()
assert torch.equal(before, torch.get_rng_state())
torch.npu.set_rng_state(state)
assert torch.equal(torch.rand(4, device="npu").cpu(), first)
assert torch.equal(torch.rand(4, device="npu").cpu(), second)
assert not torch.equal(first, second)
generator = torch.Generator(device="npu").manual_seed(3)
assert torch.equal(torch.rand(4, device="npu", generator=generator).cpu(), first)
