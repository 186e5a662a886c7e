"""Gets the model from the main program and reads an attribute of it."""

import torch


@torch.no_grad()
def evaluate(net, loader, device):
    net.eval()
    wrong = 0.0
    for x, y in loader:
        wrong += (net(x.to(device)) - y.to(device)).abs().sum().item() / net.width
    net.train()
    return wrong / len(loader)
