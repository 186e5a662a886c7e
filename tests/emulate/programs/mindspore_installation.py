import mindspore as ms
import mindspore.nn as nn
import numpy as np
from mindspore import Tensor, context, ops

context.set_context(mode=context.GRAPH_MODE, device_target="Ascend")


class Mul(nn.Cell):
    def __init__(self):
        super().__init__()
        self.mul = ops.Mul()

    def construct(self, x, y):
        return self.mul(x, y)


x = Tensor(np.array([1.0, 2.0, 3.0]).astype(np.float32))
y = Tensor(np.array([4.0, 5.0, 6.0]).astype(np.float32))
print("mul", Mul()(x, y))
ones = Tensor(np.ones([1, 3, 3, 4]).astype(np.float32))
print("add", float(ops.add(ones, ones).asnumpy().sum()), ms.get_context("device_target"))
ms.run_check()
image = Tensor(np.ones((1, 2, 4, 4), np.float32))
for refused in (lambda: ops.adaptive_max_pool2d(image, 2), lambda: ops.LRN()(image)):  # a call, and an operator by type
    try:
        refused().asnumpy()
    except RuntimeError as error:
        print("refused", error)
data = ms.dataset.NumpySlicesDataset({"x": np.ones((8, 2), np.float32), "y": np.ones((8, 1), np.float32)}).batch(2)
net = nn.Dense(2, 1)
model = ms.Model(net, nn.MSELoss(), nn.Momentum(net.trainable_params(), 0.1, 0.5), metrics={"loss"})
steps = []


class Steps(ms.Callback):
    def on_train_step_end(self, run_context):
        steps.append(run_context.original_args().cur_step_num)


model.train(4, data, callbacks=[Steps()], dataset_sink_mode=True, sink_size=2)
print("sunk", steps, float(model.eval(data, dataset_sink_mode=True)["loss"]) < 1)
