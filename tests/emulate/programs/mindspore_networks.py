import json
import sys

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

target, mode = sys.argv[1:3]
ms.set_context(mode=ms.GRAPH_MODE if mode == "graph" else ms.PYNATIVE_MODE, device_target=target)


class Residual(nn.Cell):
    def __init__(self, into, out, step):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(into, out, 3, stride=step), nn.BatchNorm2d(out)
        self.conv2, self.norm2 = nn.Conv2d(out, out, 3), nn.BatchNorm2d(out)
        self.short = nn.SequentialCell(nn.Conv2d(into, out, 1, stride=step), nn.BatchNorm2d(out))
        self.relu = nn.ReLU()

    def construct(self, x):
        return self.relu(self.norm2(self.conv2(self.relu(self.norm1(self.conv1(x))))) + self.short(x))


class ResNet(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.relu = nn.Conv2d(3, 8, 7, stride=2), nn.BatchNorm2d(8), nn.ReLU()
        self.pool = nn.MaxPool2d(3, 2, pad_mode="same")
        self.body = nn.SequentialCell(Residual(8, 8, 1), Residual(8, 16, 2))
        self.mean, self.flatten, self.head = ops.ReduceMean(keep_dims=True), nn.Flatten(), nn.Dense(16, 10)
        self.loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")

    def construct(self, x, y):
        x = self.body(self.pool(self.relu(self.norm(self.conv(x)))))
        return self.loss(self.head(self.flatten(self.mean(x, (2, 3)))), y)


class Transformer(nn.Cell):
    def __init__(self, width=16, heads=2, size=8, words=50):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(size, width)
        self.qkv, self.out = nn.Dense(width, 3 * width), nn.Dense(width, width)
        self.norm1, self.norm2 = nn.LayerNorm((width,)), nn.LayerNorm((width,))
        self.wide = nn.SequentialCell(nn.Dense(width, 4 * width), nn.GELU(), nn.Dense(4 * width, width))
        self.head, self.loss = nn.Dense(width, words, has_bias=False), nn.CrossEntropyLoss()
        self.heads, self.width, self.size = heads, width, size
        self.mask = ops.tril(ops.ones((size, size), ms.float32))
        self.at = Tensor(np.arange(size).astype(np.int32))
        self.left, self.right = ops.BatchMatMul(transpose_b=True), ops.BatchMatMul()

    def split(self, x):
        return x.reshape(-1, self.size, self.heads, self.width // self.heads).transpose(0, 2, 1, 3)

    def construct(self, x, y):
        x = self.words(x) + self.places(self.at)
        q, k, v = ops.split(self.qkv(self.norm1(x)), self.width, -1)
        score = self.left(self.split(q).astype(ms.float16), self.split(k).astype(ms.float16)).astype(ms.float32)
        score = ops.softmax(score / 2.8 + (1 - self.mask) * -10000.0, -1)
        joined = self.right(score, self.split(v)).transpose(0, 2, 1, 3).reshape(-1, self.size, self.width)
        x = x + self.out(joined)
        x = x + self.wide(self.norm2(x))
        return self.loss(self.head(x).reshape(-1, 50), y.reshape(-1))


class Clipped(nn.TrainOneStepCell):
    def construct(self, *inputs):
        loss = self.network(*inputs)
        grads = ops.clip_by_global_norm(self.grad(self.network, self.weights)(*inputs, ops.ones_like(loss)), 0.5)
        return ops.depend(loss, self.optimizer(grads))


rng = np.random.RandomState(1)
IMAGES = (Tensor(rng.randn(4, 3, 32, 32).astype(np.float32)), Tensor(rng.randint(0, 10, 4).astype(np.int32)))
WORDS = tuple(Tensor(rng.randint(0, 50, (2, 8)).astype(np.int32)) for _ in range(2))
CASES = {
    "resnet": (ResNet, IMAGES, nn.TrainOneStepCell, lambda p: nn.Momentum(p, 0.01, 0.9, weight_decay=1e-4)),
    "transformer": (Transformer, WORDS, Clipped, lambda p: nn.AdamWeightDecay(p, 1e-2)),
}
results = {}
for name, (make, data, stepper, optimizer) in CASES.items():
    rng.seed(2)
    net = make()
    for p in net.trainable_params():
        if "norm" not in p.name:
            p.set_data(Tensor((rng.randn(*p.shape) * 0.1).astype(np.float32)))
    step = stepper(net, optimizer(net.trainable_params()))
    step.set_train()
    figures = [float(step(*data).asnumpy()) for _ in range(3)]
    net.set_train(False)
    results[name] = [*figures, float(net(*data).asnumpy())]
if target == "Ascend":
    ms.set_seed(7)
    kept = nn.Dropout(p=0.25).set_train()(ops.ones((64, 64), ms.float32)).asnumpy()
    results["dropout"] = [float((kept == 0).mean()), float(kept.max())]
    net = nn.WithLossCell(nn.Dense(4, 2), nn.MSELoss())
    scaling = nn.DynamicLossScaleUpdateCell(2**4, 2, 100)
    step = nn.TrainOneStepWithLossScaleCell(net, nn.Momentum(net.trainable_params(), 0.1, 0.9), scaling)
    given = [Tensor(np.full((3, 4), size, np.float32)) for size in (1.0, 1e30, 1.0)]
    results["loss scale"] = [float(step(one, ops.zeros((3, 2), ms.float32))[2].asnumpy()) for one in given]
print(json.dumps(results))
