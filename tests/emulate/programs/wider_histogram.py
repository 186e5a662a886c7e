import torch

y = torch.histc(torch.arange(4.0).half().npu(), 4)
assert y.dtype == torch.half and y.cpu().tolist() == [1, 1, 1, 1]
try:
    torch.histc(torch.arange(4).npu(), 4)
except NotImplementedError as error:
    print(error)
