import torch
from common import NPU_THERE


def autocast(device):
    amp = torch.cuda.amp.autocast
    if "npu" in str(device) and NPU_THERE:
        amp = torch.npu.amp.autocast
    return amp


def place(kind):
    if kind == "gpu":
        return "cuda"
    return "npu" if kind == "npu" else "cpu"
