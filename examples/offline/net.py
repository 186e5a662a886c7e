"""The network, and what `jumar export check net.py:make_model` calls."""

from pathlib import Path

import torch
from torch import nn

WEIGHTS = Path(__file__).parent / "net.pt"


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.GELU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.GELU(), nn.AdaptiveAvgPool2d(1),
        )
        self.head = nn.Linear(16, 3)

    def forward(self, x):
        return self.head(self.features(x).flatten(1))


def make_model():
    net = Net()
    net.load_state_dict(torch.load(WEIGHTS, weights_only=True))
    return net, (torch.zeros(1, 3, 32, 32),)
