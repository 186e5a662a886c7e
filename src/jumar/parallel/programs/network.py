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
from mindspore.ops.auto_generate import RmsNorm, SiLU, TopKRouter
from mindspore.parallel.auto_parallel import AutoParallel
from mindspore.parallel.nn import GradAccumulation

GIVEN = {}
KINDS = {"float32": ms.float32, "bfloat16": ms.bfloat16, "float16": ms.float16}


class Linear(nn.Cell):
    """A matrix product; the weight lies in `kept` and is cast on use. split: 'out' columns, 'in' rows, '' none."""

    def __init__(self, given, inner, outer, split, bias, rows):
        super().__init__()
        tp = given["tp"]
        one, two = {"out": (1, tp), "in": (tp, 1), "": (1, 1)}[split]
        self.weight = Parameter(initializer("normal", (inner, outer), KINDS[given["kept"]]), name="weight")
        spread = given["sequence"] and split == "in"
        self.matmul = ops.MatMul().shard(((rows, one), (one, two)), ((rows * tp, 1),) if spread else None)
        self.cast = ops.Cast().shard(((one, two),))
        self.kind = KINDS[given["computed"]]
        self.bias = None
        if bias:
            self.bias = Parameter(initializer("zeros", (outer,), KINDS[given["kept"]]), name="bias")
            self.add = ops.Add().shard(((rows * tp if spread else rows, two), (two,)))
            self.cast_bias = ops.Cast().shard(((two,),))

    def construct(self, x):
        y = self.matmul(x, self.cast(self.weight, self.kind))
        if self.bias is not None:
            y = self.add(y, self.cast_bias(self.bias, self.kind))
        return y


class Norm(nn.Cell):
    """RMSNorm or LayerNorm over the last dimension, computed in the dtype of the activations."""

    def __init__(self, given, width, rows):
        super().__init__()
        self.rms = given["norm"] == "rms"
        self.kind = KINDS[given["computed"]]
        self.gamma = Parameter(initializer("ones", (width,), KINDS[given["kept"]]), name="gamma")
        self.cast = ops.Cast().shard(((1,),))
        if self.rms:
            self.norm = RmsNorm(1e-5).shard(((rows, 1), (1,)))
        else:
            self.beta = Parameter(initializer("zeros", (width,), KINDS[given["kept"]]), name="beta")
            self.norm = ops.LayerNorm(1, 1, 1e-5).shard(((rows, 1), (1,), (1,)))

    def construct(self, x):
        gamma = self.cast(self.gamma, self.kind)
        if self.rms:
            return self.norm(x, gamma)[0]
        return self.norm(x, gamma, self.cast(self.beta, self.kind))[0]


class Attention(nn.Cell):
    """Multi-head attention with grouped keys; plain products or the fused operator."""

    def __init__(self, given):
        super().__init__()
        dp, tp = given["dp"], given["tp"]
        self.length, self.heads, self.groups = given["seq"], given["heads"], given["kv_heads"]
        self.width = given["head_dim"]
        self.kind = KINDS[given["computed"]]
        self.flash, self.rope = given["attention"] == "flash", given["position"] == "rope"
        bias = given["bias"]
        self.q = Linear(given, given["hidden"], self.heads * self.width, "out", bias, dp)
        self.k = Linear(given, given["hidden"], self.groups * self.width, "out", bias, dp)
        self.v = Linear(given, given["hidden"], self.groups * self.width, "out", bias, dp)
        self.o = Linear(given, self.heads * self.width, given["hidden"], "in", bias, dp)
        self.turn = ops.Transpose().shard(((dp, 1, tp, 1),))
        self.back = ops.Transpose().shard(((dp, tp, 1, 1),))
        four = (dp, tp, 1, 1)
        if self.rope:
            self.cos = Tensor(np.ones((1, 1, self.length, self.width)), self.kind)
            self.sin = Tensor(np.ones((1, 1, self.length, self.width)), self.kind)
            self.half1 = ops.StridedSlice().shard((four,))
            self.half2 = ops.StridedSlice().shard((four,))
            self.neg = ops.Neg().shard((four,))
            self.join = ops.Concat(-1).shard((four, four))
            self.mul1 = ops.Mul().shard((four, (1, 1, 1, 1)))
            self.mul2 = ops.Mul().shard((four, (1, 1, 1, 1)))
            self.sum = ops.Add().shard((four, four))
        if self.heads != self.groups:
            self.tile = ops.Tile().shard(((dp, tp, 1, 1, 1),))
        if self.flash:
            from mindspore.ops.operations.nn_ops import FlashAttentionScore

            self.mask = Tensor(np.triu(np.ones((2048, 2048)), 1), ms.uint8)
            self.fused = FlashAttentionScore(
                self.heads, scale_value=self.width**-0.5, input_layout="BNSD", sparse_mode=2
            ).shard((four, four, four, (1, 1)))
        else:
            self.mask = Tensor(np.triu(np.ones((1, 1, self.length, self.length)), 1) * -10000.0, ms.float32)
            self.scores = ops.BatchMatMul(transpose_b=True).shard((four, four))
            self.scale = ops.Mul().shard((four, ()))
            self.to_float = ops.Cast().shard((four,))
            self.hide = ops.Add().shard((four, (1, 1, 1, 1)))
            self.softmax = ops.Softmax(-1).shard((four,))
            self.from_float = ops.Cast().shard((four,))
            self.context = ops.BatchMatMul().shard((four, four))
            if given["selective"]:
                for again in (
                    self.scores,
                    self.scale,
                    self.to_float,
                    self.hide,
                    self.softmax,
                    self.from_float,
                    self.context,
                ):
                    again.recompute()

    def split(self, x, heads):
        return self.turn(ops.reshape(x, (-1, self.length, heads, self.width)), (0, 2, 1, 3))

    def rotated(self, x):
        batch, heads, length, width = x.shape
        low = self.half1(x, (0, 0, 0, 0), (batch, heads, length, width // 2), (1, 1, 1, 1))
        high = self.half2(x, (0, 0, 0, width // 2), (batch, heads, length, width), (1, 1, 1, 1))
        return self.sum(self.mul1(x, self.cos), self.mul2(self.join((self.neg(high), low)), self.sin))

    def repeated(self, x):
        batch, heads, length, width = x.shape
        times = self.heads // self.groups
        wide = self.tile(ops.reshape(x, (batch, heads, 1, length, width)), (1, 1, times, 1, 1))
        return ops.reshape(wide, (batch, heads * times, length, width))

    def construct(self, x):
        q, k, v = (
            self.split(self.q(x), self.heads),
            self.split(self.k(x), self.groups),
            self.split(self.v(x), self.groups),
        )
        if self.rope:
            q, k = self.rotated(q), self.rotated(k)
        if self.heads != self.groups:
            k, v = self.repeated(k), self.repeated(v)
        if self.flash:
            y = self.fused(q, k, v, None, None, None, self.mask)[3]
        else:
            scores = self.to_float(self.scale(self.scores(q, k), self.width**-0.5), ms.float32)
            y = self.context(self.from_float(self.softmax(self.hide(scores, self.mask)), self.kind), v)
        return self.o(ops.reshape(self.back(y, (0, 2, 1, 3)), (-1, self.heads * self.width)))


class FeedForward(nn.Cell):
    """Two products with GELU or ReLU between them, or the gated three."""

    def __init__(self, given):
        super().__init__()
        dp, tp = given["dp"], given["tp"]
        self.gated = given["activation"] == "swiglu"
        self.up = Linear(given, given["hidden"], given["inner"], "out", given["bias"], dp)
        self.down = Linear(given, given["inner"], given["hidden"], "in", given["bias"], dp)
        if self.gated:
            self.gate = Linear(given, given["hidden"], given["inner"], "out", given["bias"], dp)
            self.act = SiLU().shard(((dp, tp),))
            self.mul = ops.Mul().shard(((dp, tp), (dp, tp)))
        else:
            self.act = (ops.GeLU() if given["activation"] == "gelu" else ops.ReLU()).shard(((dp, tp),))

    def construct(self, x):
        if self.gated:
            return self.down(self.mul(self.act(self.gate(x)), self.up(x)))
        return self.down(self.act(self.up(x)))


class Experts(nn.Cell):
    """Each token goes to its best experts; those of a data-parallel card that get too many tokens drop the last ones.

    Tokens are exchanged where the strategy changes from "groups of tokens on the cards" to "experts on the cards": the
    compiler puts an AllToAll over the expert-parallel cards there.
    """

    def __init__(self, given):
        super().__init__()
        dp, tp, ep, kept = given["dp"], given["tp"], given["ep"], KINDS[given["kept"]]
        self.groups, self.experts, self.active, self.width = (
            dp,
            given["experts"],
            given["active_experts"],
            given["hidden"],
        )
        tokens = given["global_batch"] // given["micro_batches"] // dp * given["seq"]
        self.tokens, self.room = tokens, -(-tokens * self.active // self.experts)
        self.kind = KINDS[given["computed"]]
        whole, turned = (dp, 1, 1), (dp // ep, ep, 1, 1)
        self.to_float = ops.Cast().shard((whole,))
        self.router = Parameter(initializer("normal", (self.width, self.experts), ms.float32), name="router")
        self.score = ops.MatMul().shard(((dp, 1), (1, 1)))
        self.softmax = ops.Softmax(-1).shard((whole,))
        self.best = ops.TopK(sorted=True).shard((whole,))
        self.route = TopKRouter().shard((whole,))
        self.first = Tensor(np.zeros((dp, 1, self.width)), self.kind)
        self.pad = ops.Concat(1).shard((whole, whole))
        self.dispatch = ops.Gather(batch_dims=1).shard((whole, whole))
        self.send = ops.Transpose().shard((turned,))
        self.receive = ops.Transpose().shard(((ep, dp // ep, 1, 1),))
        self.up, self.down = (
            Parameter(initializer("normal", shape, kept), name=name)
            for name, shape in (
                ("up", (self.experts, self.width, given["inner"])),
                ("down", (self.experts, given["inner"], self.width)),
            )
        )
        rows, columns = (ep, dp // ep, 1), (ep, dp // ep, tp)
        self.cast_up, self.cast_down = ops.Cast().shard(((ep, 1, tp),)), ops.Cast().shard(((ep, tp, 1),))
        self.widen = ops.BatchMatMul().shard((rows, (ep, 1, tp)))
        self.narrow = ops.BatchMatMul().shard((columns, (ep, tp, 1)))
        self.gated = given["activation"] == "swiglu"
        if self.gated:
            self.gate = Parameter(initializer("normal", (self.experts, self.width, given["inner"]), kept), name="gate")
            self.cast_gate = ops.Cast().shard(((ep, 1, tp),))
            self.open = ops.BatchMatMul().shard((rows, (ep, 1, tp)))
            self.act, self.mul = SiLU().shard((columns,)), ops.Mul().shard((columns, columns))
        else:
            self.act = (ops.GeLU() if given["activation"] == "gelu" else ops.ReLU()).shard((columns,))
        self.lead = Tensor(np.zeros((dp, self.experts, 1, self.width)), self.kind)
        self.pad_back = ops.Concat(2).shard(((dp, 1, 1, 1), (dp, 1, 1, 1)))
        self.combine = ops.Gather(batch_dims=1).shard((whole, whole))
        self.shares, self.share = ops.Cast().shard((whole,)), ops.Mul().shard(((dp, 1, 1, 1), (dp, 1, 1, 1)))
        self.total = ops.ReduceSum().shard(((dp, 1, 1, 1),))

    def computed(self, x):
        """All experts on their tokens: (experts, tokens, width)."""
        wide = self.widen(x, self.cast_up(self.up, self.kind))
        if self.gated:
            wide = self.mul(self.act(self.open(x, self.cast_gate(self.gate, self.kind))), wide)
        else:
            wide = self.act(wide)
        return self.narrow(wide, self.cast_down(self.down, self.kind))

    def construct(self, x):
        groups, experts, width = self.groups, self.experts, self.width
        rows = ops.reshape(x, (groups, self.tokens, width))
        exact = ops.reshape(self.to_float(rows, ms.float32), (-1, width))
        scores = ops.reshape(self.score(exact, self.router), (groups, self.tokens, experts))
        shares, chosen = self.best(self.softmax(scores), self.active)
        there, back = self.route(chosen, self.room, experts, 0)
        sent = self.dispatch(self.pad((self.first, rows)), ops.stop_gradient(there), 1)
        held = ops.reshape(self.send(sent, (1, 0, 2, 3)), (experts, -1, width))
        made = ops.reshape(self.computed(held), (experts, groups, self.room, width))
        made = self.pad_back((self.lead, self.receive(made, (1, 0, 2, 3))))
        made = self.combine(ops.reshape(made, (groups, -1, width)), ops.stop_gradient(back), 1)
        shares = ops.reshape(self.shares(shares, self.kind), (groups, self.tokens, self.active, 1))
        return ops.reshape(self.total(self.share(made, shares), 2), (-1, width))


class Block(nn.Cell):
    """One layer of the stack."""

    def __init__(self, given):
        super().__init__()
        rows = given["dp"] * (given["tp"] if given["sequence"] else 1)
        self.plain = given["family"] == "mlp"
        if not self.plain:
            self.norm1 = Norm(given, given["hidden"], rows)
            self.attention = Attention(given)
            self.add1 = ops.Add().shard(((rows, 1), (rows, 1)))
            self.norm2 = Norm(given, given["hidden"], rows)
            self.add2 = ops.Add().shard(((rows, 1), (rows, 1)))
        self.forward = Experts(given) if given["experts"] else FeedForward(given)

    def construct(self, x):
        if self.plain:
            return self.forward(x)
        x = self.add1(x, self.attention(self.norm1(x)))
        return self.add2(x, self.forward(self.norm2(x)))


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
        self.vocab, self.kind, self.tied = given["vocab"], KINDS[given["computed"]], given["tied"]
        self.norm = Norm(given, given["hidden"], dp * given["tp"] if given["sequence"] else dp)
        if self.tied:
            self.cast = ops.Cast().shard(((tp, 1),))
            self.matmul = ops.MatMul(transpose_b=True).shard(((dp, 1), (tp, 1)))
        else:
            self.head = Linear(given, given["hidden"], given["vocab"], "out" if tp > 1 else "", False, dp)
        self.to_float = ops.Cast().shard(((dp, tp),))
        self.largest = ops.ReduceMax(True).shard(((dp, tp),))
        self.sub = ops.Sub().shard(((dp, tp), (dp, 1)))
        self.exp = ops.Exp().shard(((dp, tp),))
        self.total = ops.ReduceSum(True).shard(((dp, tp),))
        self.div = ops.RealDiv().shard(((dp, tp), (dp, 1)))
        self.log = ops.Log().shard(((dp, tp),))
        self.one_hot = ops.OneHot().shard(((dp, tp), (), ()))
        self.mul = ops.Mul().shard(((dp, tp), (dp, tp)))
        self.picked = ops.ReduceSum().shard(((dp, tp),))
        self.mean = ops.ReduceMean().shard(((1,),))
        self.neg = ops.Neg()

    def construct(self, x, labels, table):
        x = self.norm(x)
        made = self.matmul(x, self.cast(table, self.kind)) if self.tied else self.head(x)
        logits = self.to_float(made, ms.float32)
        exp = self.exp(self.sub(logits, self.largest(logits, 1)))
        share = self.div(exp, self.total(exp, 1))
        labels = ops.reshape(labels, (-1,))
        one_hot = self.one_hot(labels, self.vocab, Tensor(1.0, ms.float32), Tensor(0.0, ms.float32))
        return self.neg(self.mean(self.picked(self.mul(self.log(share), one_hot), 1)))


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
        self.plain = given["family"] == "mlp"
        if not self.plain:
            self.start = Start(given)
            self.start.pipeline_stage = 0
        self.blocks = nn.CellList()
        for number in range(given["layers"]):
            block = Block(given)
            if number in given["recomputed"]:
                block.recompute()
            block.pipeline_stage, block.pipeline_segment = given["stage_of"][number], given["segment_of"][number]
            self.blocks.append(block)
        self.end = PlainEnd(given) if self.plain else End(given)
        self.end.pipeline_stage = given["pp"] - 1
        if given["tied"] and given["pp"] > 1:
            self.start.table.add_pipeline_stage(0)
            self.start.table.add_pipeline_stage(given["pp"] - 1)

    def construct(self, x, labels):
        table = x
        if not self.plain:
            table = self.start.table
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
    if given["pp"] > 1:
        ms.set_auto_parallel_context(
            parallel_mode="semi_auto_parallel",
            pipeline_stages=given["pp"],
            full_batch=True,
            enable_parallel_optimizer=bool(given["optimizer_shard"]),
            pipeline_config={"pipeline_interleave": given["schedule"] == "interleaved", "pipeline_scheduler": "1f1b"},
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
        one_step = _TrainGradAccuStepCell if given["micro_batches"] > 1 else nn.TrainOneStepCell
        step = one_step(net, optimizer)
    if given["pp"] > 1:
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
    ids = Tensor(np.zeros((batch, given["seq"]), np.int32))
    return parallel, (ids, ids)


if __name__ == "__main__":
    step, inputs = build(json.loads(sys.argv[1]) if sys.argv[1:] else GIVEN)
    step(*inputs)
