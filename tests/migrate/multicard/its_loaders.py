"""The loaders of `loader_elsewhere.py`."""
import torch
from torch.utils.data import DataLoader, TensorDataset


def get_data(batch_size):
    x = torch.randn(48, 4, generator=torch.Generator().manual_seed(21))
    data = TensorDataset(x, x.prod(dim=1, keepdim=True))
    return DataLoader(data, batch_size=batch_size, shuffle=True), DataLoader(data, batch_size=16), x.shape[1]
