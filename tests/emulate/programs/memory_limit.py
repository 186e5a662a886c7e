import torch

a = torch.empty(1 << 20, device="npu")
b = a + 1
assert torch.npu.memory_allocated() >= 8 << 20, torch.npu.memory_allocated()
del b
assert torch.npu.memory_allocated() < 8 << 20
free, total = torch.npu.mem_get_info()
assert total == 256 << 20 and free < total
try:
    torch.empty(1 << 30, device="npu")
except torch.OutOfMemoryError as error:
    print("OOM", "256.00 MiB total capacity" in str(error))
