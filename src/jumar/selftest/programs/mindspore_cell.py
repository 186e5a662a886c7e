"""A small cell of MindSpore on the Ascend target; its last line is what both sides must say."""

import sys

import mindspore
import numpy
from mindspore import Tensor, nn

mindspore.set_context(mode=mindspore.GRAPH_MODE, device_target="Ascend")
layer = nn.Dense(4, 2, weight_init="ones", bias_init="zeros")
out = layer(Tensor(numpy.arange(8).reshape(2, 4).astype(numpy.float32)))
sys.stdout.write(f"{out.asnumpy().round(3).tolist()}\n")
