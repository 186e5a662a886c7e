import torch


def upsample(x, engine="cuda"):
    assert engine in ("ref", "cuda")
    return torch.relu(x)
