import torch
import torch_npu
from torch_npu.contrib.module import ModulatedDeformConv

x, w, b = torch.randn(2, 4, 7, 6), torch.randn(6, 4, 3, 3), torch.randn(6)
places = torch.cat([torch.zeros(2, 18, 4, 3), torch.ones(2, 9, 4, 3)], 1)
out, read = torch_npu.npu_deformable_conv2d(x.npu(), w.npu(), places.npu(), b.npu(), [3, 3], [1, 1, 2, 2], [1, 1, 1, 1])
assert torch.allclose(out.cpu(), torch.nn.functional.conv2d(x, w, b, stride=2, padding=1), atol=1e-5)
assert read.shape == (2, 4, 12, 9)
shifted = places.clone()
shifted[:, :9] += 1.0  # every tap reads one column further to the right
out = torch_npu.npu_deformable_conv2d(x.npu(), w.npu(), shifted.npu(), b.npu(), [3, 3], [1, 1, 2, 2], [1, 1, 1, 1])[0]
wanted = torch.nn.functional.conv2d(torch.nn.functional.pad(x, (0, 2, 1, 1)), w, b, stride=2)
assert torch.allclose(out.cpu(), wanted, atol=1e-5)
assert torch.equal(torch_npu.npu_conv2d(x.npu(), w.npu(), b.npu(), [2, 2], [1, 1, 0, 2], [1, 1], 1).cpu(), wanted)
layer = ModulatedDeformConv(4, 3, 3, 1, 1).npu()
layer(x.npu()).sum().backward()
assert layer.weight.grad.shape == (3, 4, 3, 3) and layer.conv_offset.weight.grad is not None
