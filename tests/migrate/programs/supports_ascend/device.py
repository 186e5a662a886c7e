import torch
from transformers.utils import is_torch_npu_available


def pick():
    if is_torch_npu_available():
        return "npu"
    return "cuda" if torch.cuda.is_available() else "cpu"


def gap(x):
    return x.cuda()
