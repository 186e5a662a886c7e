"""The layers of the generated MindSpore network: products, norms, attention and experts, each with its strategy.

Written by Jumar (Apache-2.0). `programs.network()` puts these cells before those of network.py, in one file.
"""

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn, ops
from mindspore.common.initializer import initializer
from mindspore.ops.auto_generate import RmsNorm, SiLU, TopKRouter

KINDS = {"float32": ms.float32, "bfloat16": ms.bfloat16, "float16": ms.float16}
ZEROS = {}


def zeros(shape, kind):
    """One tensor for all layers: those of many experts on many cards would fill the host's memory."""
    if (shape, str(kind)) not in ZEROS:
        ZEROS[shape, str(kind)] = Tensor(np.zeros(shape, np.float16), kind)
    return ZEROS[shape, str(kind)]


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


class CrossEntropy(nn.Cell):
    """The loss, in float32, over classes that are split over the tensor-parallel cards."""

    def __init__(self, dp, tp, classes):
        super().__init__()
        self.classes = classes
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

    def construct(self, made, labels):
        logits = self.to_float(made, ms.float32)
        exp = self.exp(self.sub(logits, self.largest(logits, 1)))
        share = self.div(exp, self.total(exp, 1))
        labels = ops.reshape(labels, (-1,))
        one_hot = self.one_hot(labels, self.classes, Tensor(1.0, ms.float32), Tensor(0.0, ms.float32))
        return self.neg(self.mean(self.picked(self.mul(self.log(share), one_hot), 1)))


class Attention(nn.Cell):
    """Multi-head attention with grouped keys; plain products or the fused operator."""

    def __init__(self, given):
        super().__init__()
        dp, tp = given["dp"], given["tp"]
        self.length, self.heads, self.groups = given["seq"], given["heads"], given["kv_heads"]
        self.width = given["head_dim"]
        self.kind = KINDS[given["computed"]]
        self.flash, self.rope = given["attention"] == "flash", given["position"] == "rope"
        bias, self.causal = given["bias"], given["picture"] is None
        self.q = Linear(given, given["hidden"], self.heads * self.width, "out", bias, dp)
        self.k = Linear(given, given["hidden"], self.groups * self.width, "out", bias, dp)
        self.v = Linear(given, given["hidden"], self.groups * self.width, "out", bias, dp)
        self.o = Linear(given, self.heads * self.width, given["hidden"], "in", bias, dp)
        self.turn = ops.Transpose().shard(((dp, 1, tp, 1),))
        self.back = ops.Transpose().shard(((dp, tp, 1, 1),))
        four = (dp, tp, 1, 1)
        if self.rope:
            self.rotated = Rotation(given, self.width, tp)
        if self.heads != self.groups:
            self.tile = ops.Tile().shard(((dp, tp, 1, 1, 1),))
        if self.flash:
            from mindspore.ops.operations.nn_ops import FlashAttentionScore

            self.mask = Tensor(np.triu(np.ones((2048, 2048)), 1), ms.uint8) if self.causal else None
            self.fused = FlashAttentionScore(
                self.heads, scale_value=self.width**-0.5, input_layout="BNSD", sparse_mode=2 if self.causal else 0
            ).shard((four, four, four, (1, 1)) if self.causal else (four, four, four))
        else:
            if self.causal:
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
            if self.causal:
                scores = self.hide(scores, self.mask)
            y = self.context(self.from_float(self.softmax(scores), self.kind), v)
        return self.o(ops.reshape(self.back(y, (0, 2, 1, 3)), (-1, self.heads * self.width)))


class LatentAttention(nn.Cell):
    """Queries, keys and values from narrow vectors of each token that every tensor-parallel card has whole."""

    def __init__(self, given):
        super().__init__()
        dp, tp, hidden, heads = given["dp"], given["tp"], given["hidden"], given["heads"]
        ranks = given["latent"]
        self.length, self.heads, self.kind = given["seq"], heads, KINDS[given["computed"]]
        self.rank, self.plain, self.turned, self.value = (
            ranks[name] for name in ("key_rank", "plain", "rotated", "value")
        )
        width = self.plain + self.turned
        self.narrow_q = ranks["query_rank"] > 0
        if self.narrow_q:
            self.q_narrow = Linear(given, hidden, ranks["query_rank"], "", False, dp)
            self.q_norm = Norm(given, ranks["query_rank"], dp)
        self.q = Linear(given, ranks["query_rank"] or hidden, heads * width, "out", False, dp)
        self.kv_narrow = Linear(given, hidden, self.rank + self.turned, "", False, dp)
        self.kv_norm = Norm(given, self.rank, dp)
        self.kv = Linear(given, self.rank, heads * (self.plain + self.value), "out", False, dp)
        self.o = Linear(given, heads * self.value, hidden, "in", False, dp)
        four = (dp, tp, 1, 1)
        self.turn, self.turn_one = ops.Transpose().shard(((dp, 1, tp, 1),)), ops.Transpose().shard(((dp, 1, 1, 1),))
        self.back = ops.Transpose().shard((four,))
        self.rotate, self.rotate_one = Rotation(given, self.turned, tp), Rotation(given, self.turned, 1)
        self.cut, self.cut_narrow = ops.StridedSlice().shard((four,)), ops.StridedSlice().shard(((dp, 1),))
        self.join, self.tile = ops.Concat(-1).shard((four, four)), ops.Tile().shard((four,))
        self.mask = Tensor(np.triu(np.ones((2048, 2048)), 1), ms.uint8)
        from mindspore.ops.operations.nn_ops import FlashAttentionScore

        self.fused = FlashAttentionScore(heads, scale_value=width**-0.5, input_layout="BNSD", sparse_mode=2).shard(
            (four, four, four, (1, 1))
        )

    def part(self, x, begin, end):
        batch, heads, length, _ = x.shape
        return self.cut(x, (0, 0, 0, begin), (batch, heads, length, end), (1, 1, 1, 1))

    def split(self, x, width):
        return self.turn(ops.reshape(x, (-1, self.length, self.heads, width)), (0, 2, 1, 3))

    def construct(self, x):
        plain, width = self.plain, self.plain + self.turned
        q = self.split(self.q(self.q_norm(self.q_narrow(x)) if self.narrow_q else x), width)
        q = self.join((self.part(q, 0, plain), self.rotate(self.part(q, plain, width))))
        both = self.kv_narrow(x)
        rows = both.shape[0]
        narrow = self.cut_narrow(both, (0, 0), (rows, self.rank), (1, 1))
        place = self.cut_narrow(both, (0, self.rank), (rows, self.rank + self.turned), (1, 1))
        place = self.turn_one(ops.reshape(place, (-1, self.length, 1, self.turned)), (0, 2, 1, 3))
        wide = self.split(self.kv(self.kv_norm(narrow)), plain + self.value)
        k = self.join((self.part(wide, 0, plain), self.tile(self.rotate_one(place), (1, self.heads, 1, 1))))
        y = self.fused(q, k, self.part(wide, plain, plain + self.value), None, None, None, self.mask)[3]
        return self.o(ops.reshape(self.back(y, (0, 2, 1, 3)), (-1, self.heads * self.value)))


class Rotation(nn.Cell):
    """Positions by rotation: each half of the width turns the other."""

    def __init__(self, given, width, tp):
        super().__init__()
        four, one = (given["dp"], tp, 1, 1), (1, 1, 1, 1)
        self.cos = Tensor(np.ones((1, 1, given["seq"], width)), KINDS[given["computed"]])
        self.sin = Tensor(np.ones((1, 1, given["seq"], width)), KINDS[given["computed"]])
        self.half1, self.half2 = ops.StridedSlice().shard((four,)), ops.StridedSlice().shard((four,))
        self.neg, self.join = ops.Neg().shard((four,)), ops.Concat(-1).shard((four, four))
        self.mul1, self.mul2 = ops.Mul().shard((four, one)), ops.Mul().shard((four, one))
        self.sum = ops.Add().shard((four, four))

    def construct(self, x):
        batch, heads, length, width = x.shape
        low = self.half1(x, (0, 0, 0, 0), (batch, heads, length, width // 2), (1, 1, 1, 1))
        high = self.half2(x, (0, 0, 0, width // 2), (batch, heads, length, width), (1, 1, 1, 1))
        return self.sum(self.mul1(x, self.cos), self.mul2(self.join((self.neg(high), low)), self.sin))


class FeedForward(nn.Cell):
    """Two products with GELU or ReLU between them, or the gated three."""

    def __init__(self, given, inner):
        super().__init__()
        dp, tp = given["dp"], given["tp"]
        self.gated = given["activation"] == "swiglu"
        self.up = Linear(given, given["hidden"], inner, "out", given["bias"], dp)
        self.down = Linear(given, inner, given["hidden"], "in", given["bias"], dp)
        if self.gated:
            self.gate = Linear(given, given["hidden"], inner, "out", given["bias"], dp)
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
        self.outer, self.inner = dp // ep, ep
        whole, apart = (dp, 1, 1), (dp // ep, ep, 1, 1, 1)
        self.to_float = ops.Cast().shard((whole,))
        self.router = Parameter(initializer("normal", (self.width, self.experts), ms.float32), name="router")
        self.score = ops.MatMul().shard(((dp, 1), (1, 1)))
        self.softmax = ops.Softmax(-1).shard((whole,))
        self.best = ops.TopK(sorted=True).shard((whole,))
        self.route = TopKRouter().shard((whole,))
        self.first = zeros((dp, 1, self.width), self.kind)
        self.pad = ops.Concat(1).shard((whole, whole))
        self.dispatch = ops.Gather(batch_dims=1).shard((whole, whole))
        self.send = ops.Transpose().shard((apart,))
        self.receive = ops.Transpose().shard((apart,))
        self.up, self.down = (
            Parameter(initializer("normal", shape, kept), name=name)
            for name, shape in (
                ("up", (self.experts, self.width, given["inner"])),
                ("down", (self.experts, given["inner"], self.width)),
            )
        )
        rows, columns = (dp // ep, ep, 1, 1), (dp // ep, ep, 1, tp)
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
        self.lead = zeros((dp, self.experts, 1, self.width), self.kind)
        self.pad_back = ops.Concat(2).shard(((dp, 1, 1, 1), (dp, 1, 1, 1)))
        self.combine = ops.Gather(batch_dims=1).shard((whole, whole))
        self.shares, self.share = ops.Cast().shard((whole,)), ops.Mul().shard(((dp, 1, 1, 1), (dp, 1, 1, 1)))
        self.total = ops.ReduceSum().shard(((dp, 1, 1, 1),))

    def computed(self, x):
        """All experts on their tokens: (cards with the same experts, experts, tokens, width)."""
        wide = self.widen(x, self.cast_up(self.up, self.kind))
        if self.gated:
            wide = self.mul(self.act(self.open(x, self.cast_gate(self.gate, self.kind))), wide)
        else:
            wide = self.act(wide)
        return self.narrow(wide, self.cast_down(self.down, self.kind))

    def construct(self, x):
        groups, experts, width, outer, inner = self.groups, self.experts, self.width, self.outer, self.inner
        rows = ops.reshape(x, (groups, self.tokens, width))
        exact = ops.reshape(self.to_float(rows, ms.float32), (-1, width))
        scores = ops.reshape(self.score(exact, self.router), (groups, self.tokens, experts))
        shares, chosen = self.best(self.softmax(scores), self.active)
        there, back = self.route(chosen, self.room, experts, 0)
        sent = self.dispatch(self.pad((self.first, rows)), ops.stop_gradient(there), 1)
        sent = self.send(ops.reshape(sent, (outer, inner, experts, self.room, width)), (0, 2, 1, 3, 4))
        made = self.computed(ops.reshape(sent, (outer, experts, -1, width)))
        made = self.receive(ops.reshape(made, (outer, experts, inner, self.room, width)), (0, 2, 1, 3, 4))
        made = self.pad_back((self.lead, ops.reshape(made, (groups, experts, self.room, width))))
        made = self.combine(ops.reshape(made, (groups, -1, width)), ops.stop_gradient(back), 1)
        shares = ops.reshape(self.shares(shares, self.kind), (groups, self.tokens, self.active, 1))
        return ops.reshape(self.total(self.share(made, shares), 2), (-1, width))
