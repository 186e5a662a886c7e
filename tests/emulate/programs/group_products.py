"""Products with an exchange as MindSpore's process computes them, against the separate steps; run by ranks.py."""

import numpy as np
import torch
import torch.distributed as dist

from jumar.emulate.mindspore_ops import memory, registry

HALVES = (memory.FLOAT16, memory.BFLOAT16)


class Out:
    """An output as the bridge tells it."""

    def __init__(self, type_, size=1):
        self.type, self.size = type_, size


def compute(name, *given, types):
    run = registry.find(name).function
    return run(*given, outputs=[Out(one) if one is not None else None for one in types])


def name_of(group, rank):
    group = group or dist.distributed_c10d._get_default_group()
    dist.all_reduce(torch.ones(1).npu(), group=group)  # makes the communicator
    return group._get_backend(torch.device("npu")).get_hccl_comm_name(rank)


def drawn(rank, *shape, seed=0):
    return np.random.default_rng(100 * seed + rank).normal(size=shape).astype(np.float16).astype(np.float32)


def half(x, type_):
    return (
        x.astype(np.float16).astype(np.float32)
        if type_ == memory.FLOAT16
        else torch.tensor(x).bfloat16().float().numpy()
    )


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=2e-2, atol=8e-2)


def products(rank, size, name):
    x, w, bias = drawn(rank, 8, 6), drawn(rank, 6, 5, seed=1), drawn(rank, 5, seed=2)
    everyone = [(drawn(r, 8, 6), drawn(r, 6, 5, seed=1), drawn(r, 5, seed=2)) for r in range(size)]
    whole = np.concatenate([one for one, _, _ in everyone])
    out, gathered = compute("aclnnAllGatherMatmul", x, w, bias, name, 0, 0, 1, types=(1, 1))
    np.testing.assert_array_equal(gathered, whole)
    np.testing.assert_allclose(out, whole @ w + bias, rtol=1e-5, atol=1e-5)
    out, gathered = compute("aclnnAllGatherMatmul", x, w, None, name, 0, 0, 1, types=(1, None))
    assert gathered is None
    for type_ in HALVES:
        total = sum(half(a @ b + c, type_) for a, b, c in everyone)
        out = compute("aclnnMatmulAllReduce", x, w, bias, name, "sum", 0, 1, types=(type_,))
        close(out, total)
        out = compute("aclnnMatmulReduceScatter", x, w, bias, name, "sum", 0, 1, types=(type_,))
        close(out, np.split(total, size)[rank])
        residual, gamma = drawn(0, 8, 5, seed=3), drawn(0, 5, seed=4)
        given = (x, w, bias, residual, gamma, 1e-5, name, "sum", 0, 1)
        added, normed = compute("aclnnMatmulAllReduceAddRmsNorm", *given, types=(type_, type_))
        close(added, total + residual)
        size_of = np.sqrt((added * added).mean(-1, keepdims=True) + 1e-5)
        np.testing.assert_allclose(normed, added / size_of * gamma, rtol=1e-4, atol=1e-5)


def experts(rank, shard, outer, inner, names):
    """Ranks 0 1 / 2 3 hold the parts of the same experts' matrices; ranks 0 2 / 1 3 have different experts."""
    count, tokens, columns, middle, parts = 4, 4, 6, 10, 2
    own = [drawn(e, count, tokens, columns, seed=5) for e in range(2)]  # tokens of each pair of ranks

    def part(x):
        return np.split(x, parts, 1 if shard else 2)[inner]

    weight = np.split(np.split(drawn(0, count, columns, middle, seed=6), 2)[outer], parts, 2)[inner]
    bias = drawn(rank, 2, middle // 2, seed=7)
    given = (part(own[outer]), weight, bias, *names, 2, parts, shard, 3)
    out, gathered, plain = compute("aclnnAlltoAllAllGatherBatchMatMul", *given, types=(1, 1, 1))
    expected = np.concatenate([np.split(one, 2)[outer] for one in own], 1)  # both pairs' tokens of these experts
    np.testing.assert_array_equal(gathered, expected)
    close(plain, expected @ weight + bias[:, None])
    np.testing.assert_array_equal(out, np.maximum(plain, 0))
    back = np.split(np.split(drawn(0, count, middle, columns, seed=8), 2)[outer], parts, 1)[inner]
    given = (np.maximum(expected @ np.split(drawn(0, count, columns, middle, seed=6), 2)[outer], 0), None)
    mine = np.split(given[0], parts, 2)[inner]
    out = compute("aclnnBatchMatMulReduceScatterAlltoAll", mine, back, None, *names, 2, parts, shard, types=(1,))
    first, second = drawn(0, count, columns, middle, seed=6), drawn(0, count, middle, columns, seed=8)
    np.testing.assert_allclose(out, part(np.maximum(own[outer] @ first, 0) @ second), rtol=3e-2, atol=0.3)


def main(rank, size):
    start(rank, size)  # noqa: F821
    products(rank, size, name_of(None, rank))
    outer, inner = divmod(rank, 2)
    groups = [dist.new_group(members) for members in ([0, 1], [2, 3], [0, 2], [1, 3])]
    tensors, same = groups[outer], groups[2 + inner]
    names = (name_of(same, rank), name_of(tensors, rank))
    for shard in (0, 1):
        experts(rank, shard, outer, inner, names)
    try:
        compute("aclnnMatmulAllReduce", drawn(0, 2, 2), drawn(0, 2, 2), None, names[0], "max", 0, 1, types=(1,))
    except ValueError as problem:
        say(str(problem))  # noqa: F821
