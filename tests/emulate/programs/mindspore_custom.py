"""Operators of one's own that call aclnn: a plain one, attributes, a list of tensors, and one without a description."""

import json
import sys

import mindspore as ms
import numpy as np
from mindspore import Tensor, ops
from mindspore.ops import CustomRegOp, DataType

PLAIN = sys.argv[1] == "pynative"


def described(name: str, *parts: tuple[str, str], types: int = 2) -> dict:
    row, places = CustomRegOp(name), {"input": 0, "output": 0}
    for word, kind in parts:
        if word in places:
            getattr(row, word)(places[word], f"{word}{places[word]}", kind)
            places[word] += 1
        else:
            row.attr(word, "required", kind)
    return row.dtype_format(*[DataType.F32_Default] * types).target("Ascend").get_op_info()


class Net(ms.nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        two = described("aclnnMul", ("input", "required"), ("input", "required"), ("output", "required"), types=3)
        self.mul = ops.Custom("aclnnMul", lambda x, _: x, lambda x, _: x, func_type="aot", reg_info=two)
        least = described(
            "aclnnArgMin", ("input", "required"), ("dim", "int"), ("keep", "bool"), ("output", "required")
        )
        self.least = ops.Custom("aclnnArgMin", lambda x, d, k: x[1:], ms.int64, func_type="aot", reg_info=least)
        many = described("aclnnCat", ("input", "dynamic"), ("dim", "int"), ("output", "required"))
        self.cat = ops.Custom("aclnnCat", lambda x, d: [x[0][0] + x[1][0], x[0][1]], lambda x, d: x[0], func_type="aot",
                              reg_info=many)  # fmt: skip

    def construct(self, x: Tensor, y: Tensor) -> tuple:
        if PLAIN:  # MindSpore itself takes nothing but tensors then
            return (self.mul(x + y, y),)
        return self.mul(x + y, y), self.least(x, 0, False), self.cat((x, y), 0)


x = np.array([[3, 1], [0, 2], [4, 5]], np.float32)
y = np.full((3, 2), 2, np.float32)
ms.set_context(mode=ms.PYNATIVE_MODE if PLAIN else ms.GRAPH_MODE, jit_config={"jit_level": "O0"})
found = {"results": [out.asnumpy().tolist() for out in Net()(Tensor(x), Tensor(y))]}
try:
    ops.Custom("aclnnMul", lambda x, _: x, lambda x, _: x, func_type="aot")
except RuntimeError as error:
    found["refused"] = str(error)
print(json.dumps(found))
