import torch

y = torch.histc(torch.arange(4.0).half().npu(), 4)
assert y.dtype == torch.half and y.cpu().tolist() == [1, 1, 1, 1]
for kind in (
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
):  # HistcKernelNpuOpApi.cpp:48; experts are counted so
    y = torch.histc(torch.tensor([0, 3, 3, 2, 3], dtype=kind).npu(), bins=4, min=0, max=3)
    assert y.dtype == kind and y.tolist() == [1, 0, 1, 3], y
try:
    torch.histc(torch.tensor([True]).npu(), 4)
except NotImplementedError as error:
    print(error)
