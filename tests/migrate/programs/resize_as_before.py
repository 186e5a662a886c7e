"""Resizes pictures with what MS118 to MS121 write for 1.x; `before` has the numbers of 1.x, by its formula."""

import sys

import mindspore
import numpy as np
from mindspore import nn, ops
from mindspore.ops import operations as P


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.kept = P.ResizeBilinear((5, 6))
        self.aligned = ops.ResizeBilinear((3, 7), align_corners=True)
        self.layer = nn.ResizeBilinear()
        self.made = ops.ResizeBilinear

    def construct(self, x):
        size = x.shape[2:]
        doubled = ops.ResizeBilinear((size[0] * 2, size[1] * 2))
        return (
            self.kept(x),
            self.aligned(x),
            self.layer(x, scale_factor=2),
            self.layer(x, size=(2, 3), align_corners=True),
            doubled(x),
            self.made((size[0] / 2, size[1] / 2))(x),
            P.ResizeBilinear((size[0] / 2, 3))(x),
            nn.ResizeBilinear()(x, (6, 5)),
            ops.interpolate(x, sizes=(5, 6), mode="bilinear"),
            ops.interpolate(x, scales=(1.0, 1.0, 2.0, 2.0), mode="bilinear"),
        )


def before(x, height, width, align=False):
    def lines(old, new):
        scale = (old - 1) / (new - 1) if align and new > 1 else old / new
        at = np.arange(new) * scale
        low = np.floor(at).astype(int)
        high = np.minimum(low + 1, old - 1)
        return low, high, at - low

    top, bottom, y = lines(x.shape[2], height)
    left, right, z = lines(x.shape[3], width)
    y = y[:, None]
    upper = x[:, :, top][..., left] * (1 - z) + x[:, :, top][..., right] * z
    lower = x[:, :, bottom][..., left] * (1 - z) + x[:, :, bottom][..., right] * z
    return upper * (1 - y) + lower * y


mindspore.set_context(mode=int(sys.argv[1]), device_target="CPU")
image = np.random.default_rng(5).standard_normal((2, 3, 4, 6)).astype(np.float32)
wanted = [(5, 6), (3, 7, True), (8, 12), (2, 3, True), (8, 12), (2, 3), (2, 3), (6, 5), (5, 6, True), (8, 12, True)]
found = Net()(mindspore.Tensor(image))
for values, size in zip(found, wanted):
    np.testing.assert_allclose(values.asnumpy(), before(image, *size), rtol=1e-5, atol=1e-5, err_msg=str(size))
parts = ops.split(mindspore.Tensor(image), axis=1, output_num=3)
assert [part.shape for part in parts] == [(2, 1, 4, 6)] * 3
print("resized", len(wanted))
