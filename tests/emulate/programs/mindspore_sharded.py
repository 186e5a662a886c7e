import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn, ops
from mindspore.communication import init

ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend")
init()
ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", device_num=8, full_batch=True)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor(np.zeros((1024, 1024), np.float32)))
        self.m = ops.MatMul().shard(((1, 8), (8, 1)))
        self.s = ops.ReduceSum()

    def construct(self, x):
        return self.s(self.m(x, self.w))


net = Net()
step = nn.TrainOneStepCell(net, nn.Adam(net.trainable_params(), 1e-3))
step(Tensor(np.zeros((1024, 1024), np.float32)))
