"""Trains transformer layers, prints the processor time of a step: `dry_program.py LAYERS WIDTH STEPS DEVICE`."""

import sys
import time

import torch
from torch import nn

LAYERS, WIDTH, STEPS = (int(word) for word in sys.argv[1:4])
DEVICE = sys.argv[4]


def main():
    with torch.device(DEVICE):
        layers = (
            nn.TransformerEncoderLayer(WIDTH, WIDTH // 128, 4 * WIDTH, 0.0, batch_first=True) for _ in range(LAYERS)
        )
        model = nn.Sequential(*layers).bfloat16()
    optimizer = torch.optim.SGD(model.parameters(), 1e-3, foreach=False)
    times = []
    for _ in range(STEPS):
        began = time.process_time()
        loss = model(torch.empty(2, 2048, WIDTH, device=DEVICE, dtype=torch.bfloat16)).float().square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        times.append(time.process_time() - began)
    print("seconds", min(times[1:]))


main()
