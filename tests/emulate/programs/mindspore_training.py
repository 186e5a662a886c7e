import json
import sys

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn

target = sys.argv[1]
ms.set_context(device_target=target)


class LeNet5(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, pad_mode="valid")
        self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid")
        self.fc1, self.fc2, self.fc3 = nn.Dense(400, 120), nn.Dense(120, 84), nn.Dense(84, 10)
        self.relu, self.flatten = nn.ReLU(), nn.Flatten()
        self.pool = nn.MaxPool2d(kernel_size=2, stride=2)

    def construct(self, x):
        x = self.pool(self.relu(self.conv1(x)))
        x = self.flatten(self.pool(self.relu(self.conv2(x))))
        return self.fc3(self.relu(self.fc2(self.relu(self.fc1(x)))))


def mlp():
    return nn.SequentialCell(nn.Flatten(), nn.Dense(1024, 32), nn.ReLU(), nn.Dense(32, 10))


OLD = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
CASES = {
    "lenet, graph, Momentum": (LeNet5, ms.GRAPH_MODE, OLD, lambda p: nn.Momentum(p, 0.01, 0.9)),
    "lenet, pynative, Adam": (LeNet5, ms.PYNATIVE_MODE, nn.CrossEntropyLoss(), lambda p: nn.Adam(p, 1e-3)),
    "mlp, graph, Adam": (mlp, ms.GRAPH_MODE, nn.CrossEntropyLoss(), lambda p: nn.Adam(p, 1e-3)),
    "mlp, graph, SGD": (mlp, ms.GRAPH_MODE, OLD, lambda p: nn.SGD(p, 0.01, momentum=0.9, weight_decay=1e-3)),
}
results = {}
for name, (make, mode, loss, optimizer) in CASES.items():
    ms.set_context(mode=mode)
    rng = np.random.RandomState(0)
    x = Tensor(rng.randn(4, 1, 32, 32).astype(np.float32))
    y = Tensor(rng.randint(0, 10, 4).astype(np.int32))
    net = make()
    for p in net.get_parameters():
        p.set_data(Tensor((rng.randn(*p.shape) * 0.1).astype(np.float32)))
    step = nn.TrainOneStepCell(nn.WithLossCell(net, loss), optimizer(net.trainable_params()))
    step.set_train()
    losses = [float(step(x, y).asnumpy()) for _ in range(3)]
    results[name] = [*losses, float(sum(np.abs(p.asnumpy()).sum() for p in net.trainable_params()))]
print(json.dumps(results))
