"""A vision transformer by timm on an NPU, with timm's own loss and optimizer: `jumar run timm_vit.py`."""

from __future__ import annotations

import timm
import torch
from timm.loss import LabelSmoothingCrossEntropy
from timm.optim import create_optimizer_v2

import tiny


def main() -> None:
    device = tiny.device()
    torch.manual_seed(0)
    net = timm.create_model(
        "vit_tiny_patch16_224", img_size=32, patch_size=8, embed_dim=48, depth=2, num_heads=3, num_classes=10
    ).to(device)
    optimizer, lossy = create_optimizer_v2(net, "lamb", lr=1e-2), LabelSmoothingCrossEntropy(0.1)
    source = torch.Generator().manual_seed(1)
    for step in range(5):
        images, labels = torch.randn(4, 3, 32, 32, generator=source), torch.randint(10, (4,), generator=source)
        loss = lossy(net(images.to(device)), labels.to(device))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        tiny.tell(step, loss.detach())


if __name__ == "__main__":
    main()
