"""Products of matrices with the exchange of their operands or results between ranks, in one operator.

Formulas and shapes as documented (CANN 8.3, mc2/*/docs). Each rank rounds its product before the exchange.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..formulas.activation import inside
from ..formulas.norm import rms_norm
from .group import Group, joined, rounded
from .registry import NotEmulated, operator

_NUMBERED = {1: "gelu", 2: "silu", 3: "relu", 4: "fastgelu"}


def _product(x: Any, weight: Any, bias: Any) -> Any:
    if x.dtype.kind != "f" or weight.dtype.kind != "f":
        raise NotEmulated("a quantized product that is exchanged is not emulated")
    out = np.matmul(x, weight)
    return out if bias is None or not np.size(bias) else out + bias


def _is_sum(name: str) -> None:
    if name and name.lower() != "sum":
        raise ValueError(f"reduce_op should be sum, but got {name}")


@operator("aclnnAllGatherMatmul")
def gathered_product(
    x: Any, weight: Any, bias: Any, name: str, which: int, turn: int, mode: int, *_: Any, outputs: Any
) -> Any:
    """The first operand is gathered, or the second."""
    group = joined(name, "aclnnAllGatherMatmul")
    gathered = np.concatenate(list(group.all_gather(weight if which else x)))
    out = _product(x, gathered, bias) if which else _product(gathered, weight, bias)
    wanted = len(outputs) > 1 and outputs[1] is not None and outputs[1].size
    return out, gathered if wanted else None


def _summed_product(
    operator: str, exchange: Any, x: Any, weight: Any, bias: Any, name: str, reduction: str, *_: Any, outputs: Any
) -> Any:
    """The sum over all ranks: a share of its rows for each, or all of it."""
    _is_sum(reduction)
    return exchange(joined(name, operator), _product(x, weight, bias), outputs[0].type)


for _operator, _exchange in (
    ("aclnnMatmulReduceScatter", Group.reduce_scatter),
    ("aclnnMatmulAllReduce", Group.all_reduce),
):
    operator(_operator)(functools.partial(_summed_product, _operator, _exchange))


@operator("aclnnMatmulAllReduceAddRmsNorm")
def reduced_and_normalized(
    x: Any, weight: Any, bias: Any, residual: Any, gamma: Any, epsilon: float, name: str, reduction: str, turn: int,
    mode: int, *_: Any, outputs: Any,
) -> Any:  # fmt: skip
    _is_sum(reduction)
    found = joined(name, "aclnnMatmulAllReduceAddRmsNorm").all_reduce(_product(x, weight, bias), outputs[0].type)
    total = rounded(found.reshape(residual.shape) + residual, outputs[0].type)
    return total, rms_norm(total, gamma, epsilon)[0]


@operator("aclnnAlltoAllAllGatherBatchMatMul")
def experts_product(
    x: Any, weight: Any, bias: Any, experts: str, tensors: str, experts_size: int, tensors_size: int, shard: int,
    act: int, *_: Any, outputs: Any,
) -> Any:  # fmt: skip
    """Tokens go to the ranks of their experts; their parts, of columns (0) or of tokens (1), are gathered."""
    name = "aclnnAlltoAllAllGatherBatchMatMul"
    if act and act not in _NUMBERED:
        raise NotEmulated(f"activation {act} is not emulated")
    one = joined(experts, name, experts_size)
    other = joined(tensors, name, tensors_size)
    own = one.all_to_all(x.reshape(one.size, -1, *x.shape[1:]))  # rank, expert, token, column
    parts = other.all_gather(own)  # rank of the columns or tokens in front
    if shard:
        whole = parts.transpose(2, 1, 0, 3, 4).reshape(own.shape[1], -1, x.shape[2])
    else:
        whole = parts.transpose(2, 1, 3, 0, 4).reshape(own.shape[1], -1, x.shape[2] * other.size)
    out = _product(whole, weight, bias if bias is None or bias.ndim == 3 else bias[:, None])
    plain = rounded(out, outputs[0].type)
    more = [value if len(outputs) > at and outputs[at] is not None and outputs[at].size else None
            for at, value in ((1, whole), (2, plain))]  # fmt: skip
    return (inside(plain, _NUMBERED[act]) if act else plain, *more)


@operator("aclnnBatchMatMulReduceScatterAlltoAll")
def product_of_experts_back(
    x: Any, weight: Any, bias: Any, experts: str, tensors: str, experts_size: int, tensors_size: int, shard: int,
    *_: Any, outputs: Any,
) -> Any:  # fmt: skip
    """The other way: sums of the products, a share of the columns (0) or of the tokens (1), back to their tokens."""
    name, type_ = "aclnnBatchMatMulReduceScatterAlltoAll", outputs[0].type
    one = joined(experts, name, experts_size)
    other = joined(tensors, name, tensors_size)
    found = _product(x, weight, None)
    count, tokens, columns = found.shape
    if shard:
        parts = found.reshape(count, one.size, other.size, tokens // one.size // other.size, columns)
        parts = parts.transpose(2, 1, 0, 3, 4)
    else:
        parts = found.reshape(count, one.size, tokens // one.size, other.size, columns // other.size)
        parts = parts.transpose(3, 1, 0, 2, 4)
    own = other.reduce_scatter(np.ascontiguousarray(parts), type_)[0]  # rank, expert, token, column
    if bias is not None and np.size(bias):
        own = rounded(own + (bias if bias.ndim == 3 else bias[:, None]), type_)
    return one.all_to_all(own).reshape(-1, *own.shape[2:])
