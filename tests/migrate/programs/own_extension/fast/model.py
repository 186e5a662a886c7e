import fast_engine
import torch

from . import _C


def forward(x):
    if x.is_cuda:
        return fast_engine.forward(x)
    return torch.relu(x)


def backward(x):
    return _C.backward(x)
