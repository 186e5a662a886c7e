"""Operators of torchvision on the card, with the values of a plain loop and of a plain convolution."""

import torch
import torchaudio
import torchvision  # noqa: F401  it declares the operators

ops = torch.ops.torchvision


def overlap(one, two):
    width = min(one[2], two[2]) - max(one[0], two[0])
    height = min(one[3], two[3]) - max(one[1], two[1])
    inner = max(width, 0) * max(height, 0)
    return inner / ((one[2] - one[0]) * (one[3] - one[1]) + (two[2] - two[0]) * (two[3] - two[1]) - inner)


def kept(boxes, scores, limit):
    found = []
    for at in sorted(range(len(boxes)), key=lambda at: -scores[at]):
        if all(overlap(boxes[at], boxes[better]) <= limit for better in found):
            found.append(at)
    return found


torch.manual_seed(0)
boxes = torch.rand(60, 4, dtype=torch.float64)
boxes[:, 2:] += boxes[:, :2]
scores = torch.rand(60, dtype=torch.float64)
assert ops.nms(boxes, scores, 0.4).tolist() == kept(boxes.tolist(), scores.tolist(), 0.4)
card = ops.nms(boxes.float().npu(), scores.float().npu(), 0.4)
assert card.device.type == "npu" and card.tolist() == kept(boxes.float().tolist(), scores.float().tolist(), 0.4)
assert ops.nms(boxes[:0], scores[:0], 0.4).tolist() == []

x, weight, bias = torch.randn(2, 4, 6, 7).npu(), torch.randn(6, 2, 3, 3).npu(), torch.randn(6).npu()
mask = torch.full((2, 2 * 9, 6, 7), 0.5).npu()
plain = torch.nn.functional.conv2d(x, weight, padding=1, groups=2)
still = torch.zeros(2, 2 * 2 * 9, 6, 7).npu().requires_grad_()
moved = ops.deform_conv2d(x, weight, still, mask, bias, 1, 1, 1, 1, 1, 1, 2, 2, True)
torch.testing.assert_close(moved, plain * 0.5 + bias.view(1, -1, 1, 1))
moved.sum().backward()
assert still.grad.abs().sum() > 0
# Every tap one row further down: the result one row further up.
down = torch.zeros(2, 2, 9, 2, 6, 7)
down[:, :, :, 0] = 1
lower = ops.deform_conv2d(x, weight, down.flatten(1, 3).npu(), mask, bias * 0, 1, 1, 1, 1, 1, 1, 2, 2, False)
torch.testing.assert_close(lower[:, :, :-1], plain[:, :, 1:])

rois = torch.zeros(1, 5).npu()
torch.testing.assert_close(ops.roi_align(x, rois, 2.0, 1, 1, -1, False), x.mean((2, 3)) * 2)
try:
    ops.roi_pool(x, rois, 1.0, 1, 1)
except NotImplementedError as error:
    assert "torchvision::roi_pool" in str(error), error
else:
    raise AssertionError("roi_pool has no implementation")
assert torchaudio.HAS_LIBRARY is False
print("done")
