"""Both ends of the generated vision transformer: patches of a picture as tokens, and the classifier.

Written by Jumar (Apache-2.0). `programs.network()` puts these cells before those of network.py, in one file.
"""

from mindspore import Parameter, nn, ops
from mindspore.common.initializer import initializer
from network_cells import KINDS, CrossEntropy, Linear, Norm


class PictureStart(nn.Cell):
    """A convolution makes one token of each patch; every tensor-parallel card has it whole."""

    def __init__(self, given):
        super().__init__()
        dp, hidden, picture, kept = given["dp"], given["hidden"], given["picture"], KINDS[given["kept"]]
        self.hidden, self.kind, self.first = hidden, KINDS[given["computed"]], picture["class_token"]
        shape = (hidden, picture["channels"], picture["patch"], picture["patch"])
        self.kernel = Parameter(initializer("normal", shape, kept), name="kernel")
        self.bias = Parameter(initializer("zeros", (hidden,), kept), name="bias")
        self.places = Parameter(initializer("normal", (given["seq"], hidden), kept), name="places")
        self.cast, self.cast_kernel = ops.Cast().shard(((dp, 1, 1, 1),)), ops.Cast().shard(((1, 1, 1, 1),))
        self.cast_bias, self.cast_places = ops.Cast().shard(((1,),)), ops.Cast().shard(((1, 1),))
        side = picture["patch"]
        self.conv = ops.Conv2D(hidden, side, pad_mode="valid", stride=side).shard(((dp, 1, 1, 1), (1, 1, 1, 1)))
        self.turn = ops.Transpose().shard(((dp, 1, 1),))
        self.add, self.place = ops.Add().shard(((dp, 1, 1), (1,))), ops.Add().shard(((dp, 1, 1), (1, 1)))
        if self.first:
            self.token = Parameter(initializer("zeros", (1, 1, hidden), kept), name="token")
            self.cast_token = ops.Cast().shard(((1, 1, 1),))
            self.tile = ops.Tile().shard(((1, 1, 1),))
            self.join = ops.Concat(1).shard(((dp, 1, 1), (dp, 1, 1)))

    def construct(self, pictures):
        made = self.conv(self.cast(pictures, self.kind), self.cast_kernel(self.kernel, self.kind))
        batch = made.shape[0]
        x = self.turn(ops.reshape(made, (batch, self.hidden, -1)), (0, 2, 1))
        x = self.add(x, self.cast_bias(self.bias, self.kind))
        if self.first:
            x = self.join((self.tile(self.cast_token(self.token, self.kind), (batch, 1, 1)), x))
        x = self.place(x, self.cast_places(self.places, self.kind))
        return ops.reshape(x, (-1, self.hidden))


class PictureEnd(nn.Cell):
    """Norm, classifier and cross entropy; classes from the first token, or from the mean of all."""

    def __init__(self, given):
        super().__init__()
        dp = given["dp"]
        self.length, self.hidden, self.first = given["seq"], given["hidden"], given["picture"]["class_token"]
        self.norm = Norm(given, given["hidden"], dp)
        self.cut, self.mean = ops.StridedSlice().shard(((dp, 1, 1),)), ops.ReduceMean().shard(((dp, 1, 1),))
        self.head = Linear(given, given["hidden"], given["vocab"], "", given["bias"], dp)
        self.loss = CrossEntropy(dp, 1, given["vocab"])

    def construct(self, x, labels, table):
        x = ops.reshape(self.norm(x), (-1, self.length, self.hidden))
        if self.first:
            one = self.cut(x, (0, 0, 0), (x.shape[0], 1, self.hidden), (1, 1, 1))
            return self.loss(self.head(ops.reshape(one, (-1, self.hidden))), labels)
        return self.loss(self.head(self.mean(x, 1)), labels)
