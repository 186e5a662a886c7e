"""A variational autoencoder in the shape of the classic example: all at module level, the loop under the guard."""

from __future__ import print_function

import argparse

import torch
import torch.utils.data
from torch import nn, optim
from torch.nn import functional as F

parser = argparse.ArgumentParser(description="VAE")
parser.add_argument("--batch-size", type=int, default=16)
parser.add_argument("--epochs", type=int, default=2)
parser.add_argument("--save-model", default="")
args = parser.parse_args()

torch.manual_seed(3)
device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")

kwargs = {"num_workers": 0, "pin_memory": False}
train_loader = torch.utils.data.DataLoader(
    torch.utils.data.TensorDataset(torch.rand(64, 12, generator=torch.Generator().manual_seed(5))),
    batch_size=args.batch_size, shuffle=True, **kwargs)
test_loader = torch.utils.data.DataLoader(
    torch.utils.data.TensorDataset(torch.rand(32, 12, generator=torch.Generator().manual_seed(6))),
    batch_size=16, shuffle=False, **kwargs)


class VAE(nn.Module):
    def __init__(self):
        super(VAE, self).__init__()
        self.fc1 = nn.Linear(12, 8)
        self.fc21 = nn.Linear(8, 2)
        self.fc22 = nn.Linear(8, 2)
        self.fc3 = nn.Linear(2, 12)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def decode(self, z):
        return torch.sigmoid(self.fc3(z))

    def forward(self, x):
        mu, logvar = self.encode(x)
        return self.decode(mu), mu, logvar


model = VAE().to(device)
optimizer = optim.SGD(model.parameters(), lr=1e-2)


def loss_function(recon_x, x, mu, logvar):
    bce = F.binary_cross_entropy(recon_x, x, reduction='sum')
    return (bce - 0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())) / len(x)


def train(epoch):
    model.train()
    train_loss = 0
    for batch_idx, (data,) in enumerate(train_loader):
        data = data.to(device)
        optimizer.zero_grad()
        recon_batch, mu, logvar = model(data)
        loss = loss_function(recon_batch, data, mu, logvar)
        loss.backward()
        train_loss += loss.item() * len(data)
        optimizer.step()
        if batch_idx % 2 == 0: print('Train', epoch, batch_idx, loss.item())

    print('RESULT epoch {} loss {:.6f}'.format(
          epoch, train_loss / len(train_loader.dataset)))


def test(epoch):
    model.eval()
    test_loss = 0
    with torch.no_grad():
        for i, (data,) in enumerate(test_loader):
            data = data.to(device)
            recon_batch, mu, logvar = model(data)
            test_loss += loss_function(recon_batch, data, mu, logvar).item()
            if i == 0 and args.save_model:
                torch.save(
                    recon_batch,
                    args.save_model)
    test_loss /= len(test_loader)
    print('RESULT test loss {:.6f}'.format(test_loss))


if __name__ == "__main__":
    for epoch in range(1, args.epochs + 1):
        train(epoch)
        test(epoch)
        with torch.no_grad():
            sample = torch.ones(4, 2).to(device)
            sample = model.decode(sample).cpu()
            print('RESULT sample {:.6f}'.format(sample.sum().item()))
