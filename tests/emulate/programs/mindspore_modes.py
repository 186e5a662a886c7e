"""What programs do beside calling operators: shapes known late, branches, own primitives, sparse gradients, dumps."""

import glob
import json
import sys
import time

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn, ops
from mindspore.profiler import ProfilerActivity

target = sys.argv[1]
on_device = target == "Ascend"
ms.set_context(mode=ms.GRAPH_MODE, device_target=target)
results = {}


def figures(*tensors):
    return [float(v) for one in tensors for v in one.asnumpy().astype(np.float64).reshape(-1)[:12]]


def ramp(*shape):
    return Tensor((np.arange(np.prod(shape)).reshape(shape) / 10).astype(np.float32))


class Rows(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(4, 3, weight_init="ones", bias_init="zeros")
        self.norm = nn.LayerNorm((3,))

    def construct(self, x):
        return (ops.softmax(self.norm(self.dense(x)) + ops.tanh(self.dense(x))) * x.shape[0]).mean()


def dynamic_shape():
    net = Rows()
    step = nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.1))
    step.set_inputs(Tensor(shape=[None, 4], dtype=ms.float32))
    return [v for rows in (2, 5, 3) for v in figures(step(ramp(rows, 4)))] + figures(net.dense.weight)


class Found(nn.Cell):
    def construct(self, x):
        return ops.unique(x)[0] * 2, ops.nonzero(x > 2), ops.masked_select(x, x > 1)


def unknown_size():
    return figures(*Found()(Tensor(np.array([3, 1, 3, 2, 1], np.float32))))


class Branches(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor(np.ones(3, np.float32)), name="w")

    def construct(self, x, times):
        at = Tensor(0, ms.int32)
        while at < times:
            if x.sum() > 10:
                x = x - self.w
            else:
                x = x * 2
            at = at + 1
        for step in range(3):
            x = x + step * self.w
        return x


def control_flow():
    net, x = Branches(), Tensor(np.array([1, 2, 3], np.float32))
    found = []
    for times in (0, 3, 5):
        given = (x, Tensor(times, ms.int32))
        found += figures(net(*given), ops.GradOperation()(net)(*given))
    return found


class Own(nn.Cell):
    """A function of numpy as an operator, and a gradient of one's own."""

    def __init__(self):
        super().__init__()
        self.wave = ops.Custom(lambda x, y: np.sin(x) + y, lambda x, y: x, lambda x, y: x, func_type="pyfunc")

    def construct(self, x):
        return self.wave(x, x) * 2

    def bprop(self, x, out, dout):
        return (dout * out,)


def own_primitive():
    x = ramp(3)
    return figures(Own()(x), ops.GradOperation()(Own())(x))


class Table(nn.Cell):
    def __init__(self):
        super().__init__()
        self.table = Parameter(ramp(6, 2), name="table")
        self.rows = ops.SparseGatherV2() if on_device else ops.Gather()

    def construct(self, which):
        return (self.rows(self.table, which, 0) ** 2).sum()


def sparse_gradient():
    """On a card these take rows and their gradients, elsewhere the whole table's: the same for the rows in use."""
    found = []
    for kind in (nn.Adam, nn.FTRL):
        net = Table()
        step = nn.TrainOneStepCell(net, kind(net.trainable_params(), 0.1))
        for _ in range(2):
            step(Tensor(np.array([1, 4, 1], np.int32)))
        found += figures(Tensor(net.table.asnumpy()[[1, 4]]))
    return found


class Dumped(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dump = ops.TensorDump()

    def construct(self, x):
        self.dump("dumped.npy", x)
        self.dump("single.npy", ops.ReduceSum()(x))
        return x + 1


def dump():
    """Files appear a moment later: another thread writes them."""
    Dumped()(ramp(3))
    for _ in range(200):
        found = glob.glob("dumped*.npy") + glob.glob("single*.npy")
        if len(found) == 2:
            time.sleep(0.1)
            rows, single = map(np.load, found)
            assert single.shape == () and single == rows.sum()
            return [float(v) for v in rows]
        time.sleep(0.1)
    return []


def profiler():
    net = Rows()
    with ms.profiler.profile(activities=[ProfilerActivity.CPU, ProfilerActivity.NPU]) as running:
        value = net(ramp(2, 4))
        running.step()
    return figures(value)


cases = [dynamic_shape, unknown_size, control_flow, own_primitive, sparse_gradient]
for case in [*cases, dump, profiler] if on_device else cases:
    results[case.__name__] = case()
print(json.dumps(results))
