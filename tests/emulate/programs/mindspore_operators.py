import json
import sys

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

target, mode = sys.argv[1:]
ms.set_context(mode=ms.GRAPH_MODE if mode == "graph" else ms.PYNATIVE_MODE, device_target=target)


def random(*shape, kind=np.float32):
    return Tensor(np.random.RandomState(sum(shape)).randn(*shape).astype(kind))


def filled(net):
    for number, parameter in enumerate(net.get_parameters()):
        values = np.random.RandomState(number).randn(*parameter.shape) * 0.3
        parameter.set_data(Tensor(values.astype(np.float32)))
    return net


class Attention(nn.Cell):
    """One operator on the device; written out elsewhere, in float32."""

    def __init__(self):
        super().__init__()
        self.later = Tensor(np.triu(np.ones((16, 16)), 1).astype(np.uint8))
        self.hidden = Tensor(np.triu(np.full((16, 16), -1e9), 1).astype(np.float32))

    def construct(self, q, k, v):
        if target == "Ascend":
            out = ops.flash_attention_score(q, k, v, 4, attn_mask=self.later, scalar_value=0.35, input_layout="BNSD")
            return out.astype(ms.float32)
        scores = ops.matmul(q.astype(ms.float32), k.astype(ms.float32).swapaxes(-1, -2)) * 0.35 + self.hidden
        return ops.matmul(ops.softmax(scores), v.astype(ms.float32))


class Squared(nn.Cell):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def construct(self, *inputs):
        out = self.net(*inputs)
        if isinstance(out, tuple):
            out = out[0]
        return (out.astype(ms.float32) ** 2).sum()


class Speech(nn.Cell):
    def __init__(self):
        super().__init__()
        self.labels = Tensor(np.array([[1, 2, 2], [3, 1, 0]], np.int32))
        self.steps, self.lengths = Tensor(np.array([8, 7], np.int32)), Tensor(np.array([3, 2], np.int32))

    def construct(self, x):
        return ops.ctc_loss(ops.log_softmax(x, -1), self.labels, self.steps, self.lengths)[0]


class Matrices(nn.Cell):
    def construct(self, x):
        matrix = ops.matmul(x, x.swapaxes(-1, -2)) + 4 * ops.eye(4, 4, ms.float32)
        return ops.inverse(matrix)


half = random(2, 4, 16, 8, kind=np.float16)
cases = {
    "attention": (Attention(), (half, half * 2, half)),
    "lstm": (filled(nn.LSTM(6, 16, 2, bidirectional=True)), (random(7, 3, 6),)),
    "gru": (filled(nn.GRU(6, 16)), (random(7, 3, 6),)),
    "convolution of volumes": (filled(nn.Conv3d(2, 3, 3, 2, "pad", 1, has_bias=True)), (random(2, 2, 4, 6, 6),)),
    "pooling of volumes": (nn.MaxPool3d(2, 2), (random(1, 2, 4, 4, 4),)),
    "ctc": (Speech(), (random(8, 2, 5),)),
    "inverse": (Matrices(), (random(4, 4),)),
    "response": (ops.LRN(), (random(2, 8, 3, 3),)),
}
results = {}
for name, (net, inputs) in cases.items():
    loss = Squared(net)
    gradients = ops.GradOperation(get_all=True)(loss)(*inputs)
    values = [loss(*inputs), *gradients]
    results[name] = [float(v) for x in values for v in x.astype(ms.float32).asnumpy().reshape(-1)[:40]]
print(json.dumps(results))
