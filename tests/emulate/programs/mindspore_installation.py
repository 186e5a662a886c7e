import mindspore as ms
import mindspore.nn as nn
import numpy as np
from mindspore import Tensor, context, jit, ops
from mindspore.ops.auto_generate import conv_tbc

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
half = Tensor(np.ones((2, 16), np.float16))
boxes = Tensor(np.ones((4, 5), np.float32))


def convolve():  # a call
    return conv_tbc(half.reshape(2, 2, 8), Tensor(np.ones((1, 8, 4), np.float16)), Tensor(np.ones(4, np.float16)))


def overlap():  # an operator by type
    return ops.rotated_iou(boxes.reshape(1, 4, 5), boxes.reshape(1, 4, 5))


for refused in (convolve, overlap):
    try:
        refused().asnumpy()
    except RuntimeError as error:
        print("refused", error)


class Printing(nn.Cell):
    def construct(self, x):
        doubled = x * 2
        print("doubled", doubled)
        return doubled + 1


context.set_context(jit_config={"jit_level": "O1", "infer_boost": "on"})
print("printing", Printing()(x))


@jit(backend="GE")
def more(value):
    return value + 1


print("engine", more(x))


def pairs():
    return ms.dataset.NumpySlicesDataset({"x": np.ones((8, 2), np.float32), "y": np.ones((8, 1), np.float32)}).batch(2)


data = pairs()
net = nn.Dense(2, 1)
model = ms.Model(net, nn.MSELoss(), nn.Momentum(net.trainable_params(), 0.1, 0.5), metrics={"loss"})
steps = []


class Steps(ms.Callback):
    def on_train_step_end(self, run_context):
        steps.append(run_context.original_args().cur_step_num)


model.train(4, data, callbacks=[Steps()], dataset_sink_mode=True, sink_size=2)
print("sunk", steps, float(model.eval(pairs(), dataset_sink_mode=True)["loss"]) < 1)


def add(x, y):
    return (x + y).sum()


numbers = ms.dataset.NumpySlicesDataset(
    {"x": np.arange(3, dtype=np.float32), "y": np.ones(3, np.float32)}, shuffle=False
)
sinking = ms.data_sink(add, numbers, sink_size=2, jit_config=ms.JitConfig())
print("sinking", [float(sinking()) for _ in range(3)])
turns = ops.exp(Tensor(np.array([0, np.pi], np.complex64) * 1j)) * Tensor(2 + 0j, ms.complex64)
print("complex", np.round(turns.asnumpy().real, 3).tolist(), turns.dtype)
