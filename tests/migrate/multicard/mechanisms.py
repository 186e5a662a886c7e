"""A sampler of its own, collected gradients, a summed loss, a layer that few steps use, a moving average, an early stop."""
import argparse
import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(6, 8)
        self.extra = nn.Linear(8, 8)
        self.head = nn.Linear(8, 1)

    def forward(self, x, deep=False):
        x = torch.tanh(self.body(x))
        if deep:
            x = torch.tanh(self.extra(x))
        return self.head(x)


class Stopper:
    def __init__(self):
        self.best, self.early_stop = None, False

    def update(self, value):
        self.early_stop = self.best is not None and value > 1.5 * self.best
        self.best = value if self.best is None else min(self.best, value)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--save-model", default="")
    args = parser.parse_args()
    torch.manual_seed(3)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    x = torch.randn(64, 6, generator=torch.Generator().manual_seed(4))
    data = TensorDataset(x, x.sum(1, keepdim=True))
    loader = DataLoader(data, batch_size=args.batch_size, sampler=WeightedRandomSampler(torch.ones(64), 64))
    model = Net().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.002)
    average = copy.deepcopy(model)
    stopper = Stopper()
    for epoch in range(4):
        seen = np.float64(0)
        for step, (inputs, targets) in enumerate(loader):
            output = model(inputs.to(device), step % 3 == 2)
            loss = F.mse_loss(output, targets.to(device), reduction="sum")
            loss.backward()
            seen += np.float64(loss.item())
            if (step + 1) % 2 == 0:
                optimizer.step()
                optimizer.zero_grad()
                for old, new in zip(average.state_dict().values(), model.state_dict().values()):
                    old.lerp_(new, 0.5)
        seen /= len(data)
        print("RESULT", epoch, seen)
        stopper.update(seen)
        if stopper.early_stop:
            break
    print("RESULT average", average.head.weight.sum().item(), "extra", model.extra.weight.sum().item())
    if args.save_model:
        torch.save(model.state_dict(), args.save_model)


if __name__ == "__main__":
    main()
