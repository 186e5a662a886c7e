import torch

torch.npu.manual_seed_all(5)
assert torch.equal(torch.rand(3, device="npu:0").cpu(), torch.rand(3, device="npu:1").cpu())
other = torch.npu.get_rng_state("npu:1")
torch.rand(3, device="npu:0")
assert torch.equal(other, torch.npu.get_rng_state("npu:1"))
torch.npu.manual_seed(6)
print(torch.npu.initial_seed())
try:
    torch.rand(2, device="npu", generator=torch.Generator())
except RuntimeError as error:
    print(str(error).splitlines()[0])
