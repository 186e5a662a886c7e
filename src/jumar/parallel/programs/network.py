"""A network of the families that `jumar parallel` knows, as MindSpore cells with a sharding strategy on every operator.

Written by Jumar (Apache-2.0). `python train.py '{"family": "llama", ...}'` trains another network than that of GIVEN;
the words are those of `jumar parallel --json`.
"""

import json
import sys

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, lazy_inline, nn, ops
from mindspore.common.initializer import initializer
from mindspore.communication import init
from mindspore.nn.utils import no_init_parameters
from mindspore.nn.wrap.cell_wrapper import _TrainGradAccuStepCell
from mindspore.parallel.auto_parallel import AutoParallel
from mindspore.parallel.nn import GradAccumulation
from network_cells import KINDS, Attention, CrossEntropy, Experts, FeedForward, LatentAttention, Linear, Norm
from network_vision import PictureEnd, PictureStart

GIVEN = {}


class Block(nn.Cell):
    """One layer of the stack."""

    def __init__(self, given, number):
        super().__init__()
        rows = given["dp"] * (given["tp"] if given["sequence"] else 1)
        self.plain = given["family"] == "mlp"
        if not self.plain:
            self.norm1 = Norm(given, given["hidden"], rows)
            self.attention = LatentAttention(given) if given["latent"] else Attention(given)
            self.add1 = ops.Add().shard(((rows, 1), (rows, 1)))
            self.norm2 = Norm(given, given["hidden"], rows)
            self.add2 = ops.Add().shard(((rows, 1), (rows, 1)))
        experts = given["experts"] and number >= given["dense_layers"]
        inner = given["inner"] if experts or not given["experts"] else given["dense_inner"] or given["inner"]
        self.forward = Experts(given) if experts else FeedForward(given, inner)
        self.shared = None
        if experts and given["shared_inner"]:
            self.shared = FeedForward(given, given["shared_inner"])
            self.add3 = ops.Add().shard(((rows, 1), (rows, 1)))

    def construct(self, x):
        if self.plain:
            return self.forward(x)
        x = self.add1(x, self.attention(self.norm1(x)))
        normed = self.norm2(x)
        y = self.forward(normed)
        if self.shared is not None:
            y = self.add3(y, self.shared(normed))
        return self.add2(x, y)


class Start(nn.Cell):
    """The embedding: a table that is split by rows over the tensor-parallel cards."""

    def __init__(self, given):
        super().__init__()
        dp, tp = given["dp"], given["tp"]
        kept = KINDS[given["kept"]]
        self.learned, self.hidden, self.kind = given["position"] == "learned", given["hidden"], KINDS[given["computed"]]
        self.table = Parameter(initializer("normal", (given["vocab"], given["hidden"]), kept), name="table")
        self.gather = ops.Gather().shard(((tp if given["vocab"] % tp == 0 else 1, 1), (dp, 1)))
        self.cast = ops.Cast().shard(((dp, 1, 1),))
        if self.learned:
            self.places = Parameter(initializer("normal", (given["seq"], given["hidden"]), kept), name="places")
            self.add = ops.Add().shard(((dp, 1, 1), (1, 1)))

    def construct(self, ids):
        x = self.gather(self.table, ids, 0)
        if self.learned:
            x = self.add(x, self.places)
        return ops.reshape(self.cast(x, self.kind), (-1, self.hidden))


class End(nn.Cell):
    """Norm, head and cross entropy over a vocabulary that is split over the tensor-parallel cards."""

    def __init__(self, given):
        super().__init__()
        dp, tp = given["dp"], given["tp"] if given["vocab"] % given["tp"] == 0 else 1
        self.kind, self.tied = KINDS[given["computed"]], given["tied"]
        self.norm = Norm(given, given["hidden"], dp * given["tp"] if given["sequence"] else dp)
        if self.tied:
            self.cast = ops.Cast().shard(((tp, 1),))
            self.matmul = ops.MatMul(transpose_b=True).shard(((dp, 1), (tp, 1)))
        else:
            self.head = Linear(given, given["hidden"], given["vocab"], "out" if tp > 1 else "", False, dp)
        self.loss = CrossEntropy(dp, tp, given["vocab"])

    def construct(self, x, labels, table):
        x = self.norm(x)
        return self.loss(self.matmul(x, self.cast(table, self.kind)) if self.tied else self.head(x), labels)


class PlainEnd(nn.Cell):
    """The mean of squares, the end of a plain stack."""

    def __init__(self, given):
        super().__init__()
        self.square = ops.Square().shard(((given["dp"], 1),))
        self.mean = ops.ReduceMean().shard(((given["dp"], 1),))

    def construct(self, x, labels, table):
        return self.mean(self.square(x))


class Network(nn.Cell):
    """Embedding, blocks, head and loss; or blocks and the mean of squares for a plain stack."""

    def __init__(self, given):
        super().__init__()
        self.plain, self.text = given["family"] == "mlp", given["vocab"] > 0 and not given["picture"]
        if not self.plain:
            self.start = Start(given) if self.text else PictureStart(given)
            self.start.pipeline_stage = 0
        self.blocks = nn.CellList()
        for number in range(given["layers"]):
            block = Block(given, number)
            if number in given["recomputed"]:
                block.recompute()
            block.pipeline_stage, block.pipeline_segment = given["stage_of"][number], given["segment_of"][number]
            self.blocks.append(block)
        self.end = PlainEnd(given) if self.plain else End(given) if self.text else PictureEnd(given)
        self.end.pipeline_stage = given["pp"] - 1
        if given["tied"] and given["pp"] > 1:
            self.start.table.add_pipeline_stage(0)
            self.start.table.add_pipeline_stage(given["pp"] - 1)

    def construct(self, x, labels):
        table = x
        if self.text:
            table = self.start.table
        if not self.plain:
            x = self.start(x)
        for block in self.blocks:
            x = block(x)
        return self.end(x, labels, table)


class StagedNetwork(Network):
    """The same for a pipeline: its micro-batches share one graph.

    Without a pipeline it would do harm: with recompute the forward pass is then done twice, and weights are gathered
    before they are cast.
    """

    @lazy_inline
    def __init__(self, given):
        super().__init__(given)


def build(given):
    """The training step, not yet compiled, and its inputs."""
    ms.set_context(mode=ms.GRAPH_MODE)
    ms.set_device("Ascend", 0)
    init()
    accumulates = given["micro_batches"] > 1 or given["pp"] > 1
    if accumulates:  # the step that adds gradients up reads the context when it is built
        schedule = {"pipeline_interleave": given["schedule"] == "interleaved", "pipeline_scheduler": "1f1b"}
        ms.set_auto_parallel_context(
            parallel_mode="semi_auto_parallel",
            full_batch=True,
            enable_alltoall=True,  # AutoParallel's default; without it tokens travel by AllGather and ReduceScatter
            enable_parallel_optimizer=bool(given["optimizer_shard"]),
            pipeline_stages=given["pp"],
            **({"pipeline_config": schedule} if given["pp"] > 1 else {}),
        )
    with no_init_parameters():
        if given["pp"] > 1:
            net = nn.PipelineCell(StagedNetwork(given), given["micro_batches"])
        elif given["micro_batches"] > 1:
            net = GradAccumulation(StagedNetwork(given), given["micro_batches"])
        else:
            net = Network(given)
        kinds = {
            "adam": nn.Adam,
            "adamw": nn.AdamWeightDecay,
            "momentum": lambda p: nn.Momentum(p, 0.1, 0.9),
            "sgd": lambda p: nn.SGD(p, 0.1),
        }
        optimizer = kinds[given["optimizer"]](net.trainable_params())
        one_step = _TrainGradAccuStepCell if accumulates else nn.TrainOneStepCell
        step = one_step(net, optimizer)
    if accumulates:
        parallel = step
        parallel.set_train()
    else:
        parallel = AutoParallel(step, "semi_auto")
        parallel.dataset_strategy("full_batch")
        if given["optimizer_shard"]:
            parallel.hsdp(optimizer_level=f"level{given['optimizer_shard']}")
        parallel.no_init_parameters_in_compile()
    batch = given["global_batch"]
    if given["family"] == "mlp":
        return parallel, (
            Tensor(np.zeros((batch, given["hidden"])), KINDS[given["computed"]]),
            Tensor(np.zeros((batch,), np.int32)),
        )
    if given["family"] == "vit":
        side = given["picture"]["side"]
        pictures = Tensor(np.zeros((batch, given["picture"]["channels"], side, side), np.float32))
        return parallel, (pictures, Tensor(np.zeros((batch,), np.int32)))
    ids = Tensor(np.zeros((batch, given["seq"]), np.int32))
    return parallel, (ids, ids)


if __name__ == "__main__":
    step, inputs = build(json.loads(sys.argv[1]) if sys.argv[1:] else GIVEN)
    step(*inputs)
