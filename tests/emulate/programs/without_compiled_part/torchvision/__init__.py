"""In the shape of torchvision beside a CPU build of torch: its operators are described, and nobody declared them."""

import torch

from torchvision import extension as extension
from torchvision import ops as ops


@torch.library.register_fake("torchvision::nms")
def _(dets, scores, iou_threshold):
    return dets.new_empty(dets.shape[0], dtype=torch.long)
