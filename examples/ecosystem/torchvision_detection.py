"""Faster R-CNN by torchvision on an NPU: `jumar run torchvision_detection.py`.

torchvision's wheel and a CPU build of torch: `pip install --no-deps torchvision==0.28.0`. `jumar run` supplies the
operators that its compiled part, which is linked with CUDA, would bring.
"""

from __future__ import annotations

import torch
from torchvision.models.detection import fasterrcnn_mobilenet_v3_large_320_fpn
from torchvision.transforms import v2

import tiny

ALL = 1_000_000
"""Boxes of each image that make the loss: fewer would be drawn with the device's own random numbers."""


def main() -> None:
    device = tiny.device()
    torch.manual_seed(0)
    net = fasterrcnn_mobilenet_v3_large_320_fpn(
        weights=None, weights_backbone=None, num_classes=3, rpn_batch_size_per_image=ALL, box_batch_size_per_image=8
    )
    net.to(device).train()
    optimizer = torch.optim.SGD([one for one in net.parameters() if one.requires_grad], lr=1e-3)
    source = torch.Generator().manual_seed(1)
    for step in range(3):
        image = v2.functional.normalize(torch.rand(3, 96, 96, generator=source), [0.5] * 3, [0.5] * 3).to(device)
        target = {"boxes": torch.tensor([[8.0, 8, 64, 72]]).to(device), "labels": torch.tensor([1]).to(device)}
        losses = net([image], [target])
        loss = losses["loss_objectness"] + losses["loss_rpn_box_reg"]
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        tiny.tell(step, loss.detach())
    net.eval()
    print(f"{len(net([image])[0]['boxes'])} boxes")


if __name__ == "__main__":
    main()
