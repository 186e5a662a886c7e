"""Pictures of four shapes, drawn on the fly from a seed."""

import torch
from torch.utils.data import DataLoader, Dataset

NAMES = ("circle", "square", "triangle", "cross")


class Shapes(Dataset):
    """Picture number i is always the same one."""

    def __init__(self, length, size=32, seed=0):
        self.length = length
        self.size = size
        self.seed = seed
        line = torch.linspace(-1.0, 1.0, size)
        self.y, self.x = torch.meshgrid(line, line, indexing="ij")

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + index)
        label = index % len(NAMES)
        cx, cy, radius = (torch.rand(3, generator=generator) * torch.tensor([0.8, 0.8, 0.3])).tolist()
        x, y, radius = self.x - cx + 0.4, self.y - cy + 0.4, radius + 0.3
        if label == 0:
            mask = x**2 + y**2 < radius**2
        elif label == 1:
            mask = (x.abs() < radius) & (y.abs() < radius)
        elif label == 2:
            mask = (y < radius) & (y > 2 * x.abs() - radius)
        else:
            mask = (x.abs() < radius / 4) | (y.abs() < radius / 4)
            mask &= x**2 + y**2 < radius**2
        noise = torch.randn(3, self.size, self.size, generator=generator)
        return mask.float().expand(3, -1, -1) + 0.3 * noise, label


def loaders(config):
    """Training and test loader; memory is pinned when there is a card to copy to."""
    options = {"num_workers": config["workers"], "pin_memory": torch.cuda.is_available()}
    train = Shapes(config["train_pictures"], seed=1)
    test = Shapes(config["test_pictures"], seed=2)
    order = torch.Generator().manual_seed(config["seed"])
    return (
        DataLoader(train, batch_size=config["batch_size"], shuffle=True, generator=order, **options),
        DataLoader(test, batch_size=config["batch_size"], **options),
    )
