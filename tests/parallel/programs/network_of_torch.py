from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(64, 256), nn.Linear(256, 64)

    def forward(self, x):
        return x + self.b(nn.functional.gelu(self.a(x)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Block() for _ in range(4)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x.square().mean()


def make_model():
    return Net()


def broken():
    raise ValueError("no weights here")


def asks(width, depth=2):
    return Net()


def wrong():
    return [Net()]
