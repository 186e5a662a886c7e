import argparse
import os

import mindspore as ms
import mindspore.dataset as ds
import numpy as np
from mindspore import Model, context, nn
from mindspore.communication import get_group_size, get_rank, init

parser = argparse.ArgumentParser()
parser.add_argument("--data_url")
parser.add_argument("--train_url")
args, _ = parser.parse_known_args()
context.set_context(mode=context.GRAPH_MODE, device_target="Ascend", device_id=int(os.getenv("DEVICE_ID", "0")))
rank, size = 0, 1
if int(os.getenv("RANK_SIZE", "1")) > 1:
    init("hccl")
    rank, size = get_rank(), get_group_size()
    context.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True, device_num=size)
x = np.loadtxt(os.path.join(args.data_url, "x.txt"), dtype=np.float32)
rows = {"x": x, "y": x.sum(1, keepdims=True)}
data = ds.NumpySlicesDataset(rows, shuffle=False, num_shards=size, shard_id=rank, num_parallel_workers=8)
data = data.batch(8 // size)
ms.set_seed(1)
net = nn.Dense(4, 1)
Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.05)).train(2, data, dataset_sink_mode=False)
np.savetxt(os.path.join(args.train_url, f"w-{rank}.txt"), net.weight.asnumpy())
print("trained on", context.get_context("device_target"), rank, "of", size)
