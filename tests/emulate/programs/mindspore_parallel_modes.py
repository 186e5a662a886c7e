"""Trains a network in each mode that is named, or in all; prints the losses of each. Alone, or as one of several."""

import json
import os
import sys

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn, ops
from mindspore.common import lazy_inline
from mindspore.communication import get_group_size, get_rank, init
from mindspore.train import amp

ROWS, WIDTH, EXPERTS, STEPS, MICRO = 64, 16, 8, 3, 4
PIPELINES = ("pipeline", "interleaved pipeline", "pipeline with optimizer shard")
MODES = ("data", "semi-auto", "auto", "optimizer shard", "recompute", "experts", *PIPELINES)

size, rank = int(os.environ.get("RANK_SIZE", os.environ.get("MS_WORKER_NUM", "1"))), 0
ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend")
if size > 1:
    init()
    size, rank = get_group_size(), get_rank()


def weights(seed, *shape):
    return Tensor((np.random.RandomState(seed).randn(*shape) * 0.3).astype(np.float32))


class Block(nn.Cell):
    def __init__(self, seed, spread, size=size):
        super().__init__()
        self.first = Parameter(weights(seed, WIDTH, 2 * WIDTH), name=f"first{seed}")
        self.second = Parameter(weights(seed + 100, 2 * WIDTH, WIDTH), name=f"second{seed}")
        self.widen, self.narrow, self.relu, self.add = ops.MatMul(), ops.MatMul(), ops.ReLU(), ops.Add()
        if spread == "columns":
            self.widen.shard(((1, 1), (1, size)))
            self.relu.shard(((1, size),))
            self.narrow.shard(((1, size), (size, 1)))
        if spread == "rows":
            self.widen.shard(((size, 1), (1, 1)))
            self.relu.shard(((size, 1),))
            self.narrow.shard(((size, 1), (1, 1)))
            self.add.shard(((size, 1), (size, 1)))

    def construct(self, x):
        return self.add(x, self.narrow(self.relu(self.widen(x, self.first)), self.second))


class Experts(nn.Cell):
    """Row i belongs to expert i modulo their number: rows and experts lie on different cards."""

    def __init__(self, spread):
        super().__init__()
        self.weight = Parameter(weights(7, EXPERTS, WIDTH, WIDTH), name="experts")
        self.turn, self.back, self.product = ops.Transpose(), ops.Transpose(), ops.BatchMatMul()
        if spread:
            self.turn.shard(((size, 1, 1),))
            self.product.shard(((size, 1, 1), (size, 1, 1)))
            self.back.shard(((1, size, 1),))

    def construct(self, x):
        x = self.turn(x.reshape(ROWS // EXPERTS, EXPERTS, WIDTH), (1, 0, 2))
        return self.back(self.product(x, self.weight), (1, 0, 2)).reshape(ROWS, WIDTH)


class Network(nn.Cell):
    def __init__(self, mode):
        super().__init__()
        spread = "columns" if mode in ("semi-auto", "recompute") else ""
        if mode in ("optimizer shard", "experts"):
            spread = "rows"
        spread = spread if size > 1 else ""
        self.one, self.two = Block(1, spread), Block(2, spread)
        self.experts = Experts(spread) if mode == "experts" else None
        if mode == "recompute":
            self.one.recompute()
        self.mean = ops.ReduceMean()

    def construct(self, x, y):
        x = self.two(self.one(x))
        if self.experts is not None:
            x = self.experts(x)
        return self.mean((x - y) ** 2)


class Loss(nn.Cell):
    def __init__(self):
        super().__init__()
        self.mean = ops.ReduceMean()

    def construct(self, x, y):
        return self.mean((x - y) ** 2)


class Deep(nn.Cell):
    """Four blocks on the stages of a pipeline; the loss belongs to the last stage, so it is a cell of its own."""

    @lazy_inline  # interleaved stages are refused without it
    def __init__(self, stages, chunks):
        super().__init__()
        spread = "rows" if size > stages else ""
        self.blocks = nn.CellList([Block(seed, spread, size // stages) for seed in range(1, 5)])
        self.loss = Loss()
        each = len(self.blocks) // (stages * chunks)
        for number, block in enumerate(self.blocks):
            block.pipeline_stage = number // each % stages
            if chunks > 1:
                block.pipeline_segment = number // each // stages
        self.loss.pipeline_stage = stages - 1
        if chunks > 1:
            self.loss.pipeline_segment = chunks - 1

    def construct(self, x, y):
        for block in self.blocks:
            x = block(x)
        return self.loss(x, y)


def pipeline(mode):
    """The step, and by what its loss is too large: that of `amp` and `Model` averages and clears gradients."""
    stages, chunks = 1, 1
    if size > 1:
        stages = min(size, 4) if mode == "pipeline" else 2
        chunks = 2 if mode == "interleaved pipeline" else 1
        settings = {"pipeline_stages": stages}
        if chunks > 1:
            settings["pipeline_config"] = {"pipeline_interleave": True, "pipeline_scheduler": "1f1b"}
        ms.set_auto_parallel_context(**settings)
    network = Deep(stages, chunks)
    optimizer = nn.Momentum(network.trainable_params(), 0.1, 0.9)
    if size == 1:
        return nn.TrainOneStepCell(network, optimizer), 1
    return amp.build_train_network(nn.PipelineCell(network, MICRO), optimizer, level="O0"), MICRO


def prepare(mode):
    ms.reset_auto_parallel_context()
    if size == 1:
        return
    if mode == "data":
        ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
    elif mode == "auto":
        ms.set_auto_parallel_context(
            parallel_mode="auto_parallel", search_mode="sharding_propagation", full_batch=True, device_num=size
        )
    else:
        ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", full_batch=True, device_num=size)
    if mode.endswith("optimizer shard"):
        ms.set_auto_parallel_context(
            enable_parallel_optimizer=True, parallel_optimizer_config={"parallel_optimizer_threshold": 0}
        )
    if mode == "experts":
        ms.set_auto_parallel_context(enable_alltoall=True)


def train(mode):
    prepare(mode)
    x, y = weights(11, ROWS, WIDTH).asnumpy(), weights(12, ROWS, WIDTH).asnumpy()
    if mode == "data":
        part = slice(rank * ROWS // size, (rank + 1) * ROWS // size)
        x, y = x[part], y[part]
    if mode in PIPELINES:
        step, times = pipeline(mode)
    else:
        network = Network(mode)
        step, times = nn.TrainOneStepCell(network, nn.Momentum(network.trainable_params(), 0.1, 0.9)), 1
    step.set_train()
    return [float(step(Tensor(x), Tensor(y)).asnumpy().sum()) / times for _ in range(STEPS)]


for mode in sys.argv[1:] or MODES:
    try:
        found = {"mode": mode, "losses": train(mode)}
    except Exception as problem:
        found = {"mode": mode, "error": f"{type(problem).__name__}: {problem}"[:600]}
    print(json.dumps(found), flush=True)
