"""Products with an exchange in one operator against the separate ones, on every rank of an msrun job."""

import sys

import mindspore as ms
import numpy as np
from mindspore import nn, ops
from mindspore.communication import GlobalComm, get_group_size, get_rank, init
from mindspore.ops.auto_generate import MatmulAllReduceAddRmsNorm

ms.set_context(mode=ms.GRAPH_MODE if sys.argv[1] == "graph" else ms.PYNATIVE_MODE, device_target="Ascend")
init()
RANK, SIZE, GROUP = get_rank(), get_group_size(), GlobalComm.WORLD_COMM_GROUP
rng = np.random.default_rng(RANK)
x, weight = ms.Tensor(rng.normal(size=(4, 16)), ms.bfloat16), ms.Tensor(rng.normal(size=(16, 8)), ms.bfloat16)


class Gathered(nn.Cell):
    def construct(self, x, weight):
        return ops.all_gather_matmul(x, weight, GROUP, SIZE, gather_output=True)


class Scattered(nn.Cell):
    def construct(self, x, weight):
        return ops.matmul_reduce_scatter(x, weight, GROUP, SIZE)


def same(found, expected):
    np.testing.assert_array_equal(found.astype(ms.float32).asnumpy(), expected.astype(ms.float32).asnumpy())


gathered, scattered = Gathered(), Scattered()
for _ in range(2):
    out, rows = gathered(x, weight)
    same(rows, ops.AllGather()(x))
    same(out, ops.matmul(rows, weight))
    same(scattered(x, weight), ops.ReduceScatter()(ops.matmul(x, weight)))
    x = x * 2
residual, gamma, bias = (ms.Tensor(value, ms.bfloat16) for value in (np.ones((1, 4, 8)), np.arange(8), np.zeros(8)))
wide = x.reshape(1, 4, 16)
total, normed = MatmulAllReduceAddRmsNorm()(wide, weight, bias, residual, gamma, 1e-5, GROUP)
same(total, ops.AllReduce()(ops.matmul(wide, weight)) + residual)
same(normed, ops.rms_norm(total, gamma, 1e-5)[0])
print(f"products of rank {RANK} of {SIZE} are the same", flush=True)
