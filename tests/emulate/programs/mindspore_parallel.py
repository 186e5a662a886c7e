import sys

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn
from mindspore.communication import get_group_size, get_rank, init

ms.set_device("Ascend", 5)
rank, size = 0, 1
if "single" not in sys.argv:
    init("hccl")
    rank, size = get_rank(), get_group_size()
    ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True, device_num=size)
rng = np.random.RandomState(0)
x, y = rng.randn(8, 16).astype(np.float32), rng.randint(0, 4, 8).astype(np.int32)
net = nn.SequentialCell(nn.Dense(16, 32), nn.ReLU(), nn.Dense(32, 4))
for p in net.get_parameters():
    p.set_data(Tensor((rng.randn(*p.shape) * 0.1).astype(np.float32)))
opt = nn.Momentum(net.trainable_params(), 0.1, 0.9)
step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.CrossEntropyLoss()), opt)
step.set_train()
part = slice(rank * 8 // size, (rank + 1) * 8 // size)
for _ in range(5):
    step(Tensor(x[part]), Tensor(y[part]))
weights = sum(np.abs(p.asnumpy()).sum() for p in net.trainable_params())
print(f"weights {weights:.5f}")
