"""A `Trainer` that holds the model and the loaders; checkpoints, a custom attribute and an early best."""
import os
from argparse import ArgumentParser

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Regressor(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.width = width
        self.net = nn.Sequential(nn.Linear(4, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, x):
        return self.net(x).squeeze(1)


class Trainer:
    def __init__(self, model, train_loader, val_loader, lr, folder):
        self.device = torch.device("cuda:0") if torch.cuda.is_available() else torch.device("cpu")
        self.model = model
        self.model.to(self.device)
        self.train_loader = train_loader
        self.val_loader = val_loader
        self.criterion = nn.MSELoss()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=lr)
        self.folder = folder
        self.best = float("inf")

    def train_epoch(self):
        self.model.train()
        total, seen = 0.0, 0
        for x, y in self.train_loader:
            x, y = x.to(self.device), y.to(self.device)
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            total += loss.item() * x.size(0)
            seen += x.size(0)
        return total / seen, seen

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        total = 0.0
        for x, y in self.val_loader:
            total += self.criterion(self.model(x.to(self.device)), y.to(self.device)).item()
        return total / len(self.val_loader)

    def save(self, epoch):
        if not os.path.exists(self.folder):
            os.makedirs(self.folder)
        path = os.path.join(self.folder, "best.pt")
        torch.save({"epoch": epoch, "width": self.model.width, "model": self.model.state_dict()}, path)

    def fit(self, epochs):
        for epoch in range(epochs):
            train_loss, seen = self.train_epoch()
            val_loss = self.validate()
            print(f"RESULT epoch {epoch} train {train_loss:.6f} seen {seen} val {val_loss:.6f}")
            if val_loss < self.best:
                self.best = val_loss
                if self.folder:
                    self.save(epoch)


def make_data(size, seed):
    x = torch.randn(size, 4, generator=torch.Generator().manual_seed(seed))
    return TensorDataset(x, x.sum(dim=1))


def main():
    parser = ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--save-model", default="")
    opts = parser.parse_args()
    torch.manual_seed(7)
    train_loader = DataLoader(make_data(96, 1), opts.batch_size, True)
    val_loader = DataLoader(make_data(32, 2), 16)
    trainer = Trainer(Regressor(), train_loader, val_loader, 0.1, opts.save_model and opts.save_model + ".d")
    trainer.fit(2)
    return trainer


if __name__ == "__main__":
    main()
