"""One line makes the loaders of the training and of the tests."""

import torch
from torch.utils.data import DataLoader, TensorDataset


def loader_of(part, batch_size):
    seed = {"train": 4, "test": 5}[part]
    x = torch.randn(48, 6, generator=torch.Generator().manual_seed(seed))
    return DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=batch_size, shuffle=part == "train")
