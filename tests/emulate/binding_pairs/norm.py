"""Norms with an addition in front, and batch norm over several cards."""

from __future__ import annotations

import torch

from . import Results, Side, drawn, pair


@pair("npu_add_rms_norm", "aclnnAddRmsNorm")
def add_rms_norm(torch_side: Side, mindspore_side: Side) -> Results:
    for axes in (1, 2):
        x, other, weight = drawn(3, 4, 6), drawn(3, 4, 6, seed=2), drawn(3, 4, 6, seed=3)[(0,) * (3 - axes)]
        results = torch_side(x, other, weight, 1e-3)
        yield f"{axes} axes", results, mindspore_side(x=x, other=other, weight=weight, epsilon=1e-3)


@pair("npu_add_rms_norm_v2", "aclnnAddRmsNorm")
def add_rms_norm_in_place(torch_side: Side, mindspore_side: Side) -> Results:
    x, other, weight = drawn(3, 6), drawn(3, 6, seed=2), drawn(6)
    results = mindspore_side(x=x.clone(), other=other.clone(), weight=weight, epsilon=1e-3)
    (rstd,) = torch_side(x, other, weight, 1e-3)
    yield "in place", (x.numpy(), rstd, other.numpy()), results


@pair("npu_add_layer_norm", "aclnnAddLayerNorm")
def add_layer_norm(torch_side: Side, mindspore_side: Side) -> Results:
    x, other, weight, bias = drawn(3, 4, 6), drawn(3, 4, 6, seed=2), drawn(6, seed=3), drawn(6, seed=4)
    for extra in (False, True):
        given = {"x": x, "other": other, "weight": weight, "bias": bias, "more": None, "epsilon": 1e-4, "extra": extra}
        results, others = torch_side(x, other, weight, bias, 1e-4, extra), mindspore_side(**given)
        yield f"extra {extra}", results[: 3 + extra], others[: 3 + extra]


@pair("npu_add_layer_norm_backward", "aclnnAddLayerNormGrad")
def add_layer_norm_backward(torch_side: Side, mindspore_side: Side) -> Results:
    grad, x, other, more = (drawn(3, 4, 6, seed=seed) for seed in range(4))
    weight, total = drawn(6), x + other
    mean = total.mean(-1, keepdim=True)
    rstd = torch.rsqrt(total.var(-1, correction=0, keepdim=True) + 1e-4)
    for name, added in (("alone", None), ("with a gradient of the sum", more)):
        to_x, _, to_weight, to_bias = torch_side(grad, x, other, rstd, mean, weight, added)
        given = {"grad": grad, "x": x, "other": other, "inverse": rstd, "mean": mean, "weight": weight, "more": added}
        yield name, (to_x, to_weight, to_bias), mindspore_side(**given)


@pair("aten::batch_norm_stats", "aclnnBatchNormStats")
def statistics(torch_side: Side, mindspore_side: Side) -> Results:
    for shape in ((4, 3), (4, 3, 5), (4, 3, 5, 2)):
        x = drawn(*shape)
        yield f"{len(shape)} axes", torch_side(x, 1e-3), mindspore_side(x=x, epsilon=1e-3)


@pair("aten::batch_norm_elemt", "aclnnBatchNormElemt")
def normalize(torch_side: Side, mindspore_side: Side) -> Results:
    x, mean, inverse = drawn(4, 3, 5), drawn(3), drawn(3, seed=2).abs()
    for name, weight, bias in (("plain", None, None), ("scaled", drawn(3, seed=3), drawn(3, seed=4))):
        given = {"x": x, "weight": weight, "bias": bias, "mean": mean, "inverse": inverse, "epsilon": 1e-3}
        yield name, torch_side(x, weight, bias, mean, inverse, 1e-3), mindspore_side(**given)


@pair("aten::batch_norm_gather_stats_with_counts", "aclnnBatchNormGatherStatsWithCounts")
def gather_statistics(torch_side: Side, mindspore_side: Side) -> Results:
    x, means, inverses, counts = drawn(4, 3, 5), drawn(2, 3), drawn(2, 3, seed=2).abs(), torch.tensor([6.0, 14.0])
    for name, running in (("alone", None), ("with running statistics", (drawn(3), drawn(3, seed=2).abs()))):
        mean, variance = (None, None) if running is None else (one.clone() for one in running)
        given = {"x": x, "means": means, "inverses": inverses, "momentum": 0.1, "epsilon": 1e-4, "counts": counts}
        results = mindspore_side(**given, **dict(zip(("running", "variance"), running or (None, None), strict=True)))
        found = torch_side(x, means, inverses, mean, variance, 0.1, 1e-4, counts)
        moved = (None, None) if running is None else (mean.numpy(), variance.numpy())
        yield name, (*moved, *found), results


@pair("aten::batch_norm_backward_reduce", "aclnnBatchNormReduceBackward")
def reduce_backward(torch_side: Side, mindspore_side: Side) -> Results:
    grad, x, mean, inverse, weight = drawn(4, 3, 5), drawn(4, 3, 5, seed=2), drawn(3), drawn(3, seed=2), drawn(3)
    given = {"grad": grad, "x": x, "mean": mean, "inverse": inverse, "weight": weight}
    for wanted in ((True, True, True), (True, False, False), (False, True, True)):
        flags = dict(zip(("for_x", "for_weight", "for_bias"), wanted, strict=True))
        results = [one if one.size else None for one in torch_side(grad, x, mean, inverse, weight, *wanted)]
        yield f"{wanted}", results, mindspore_side(**given, **flags)


@pair("aten::batch_norm_backward_elemt", "aclnnBatchNormElemtBackward")
def normalize_backward(torch_side: Side, mindspore_side: Side) -> Results:
    grad, x, mean, inverse = drawn(4, 3, 5), drawn(4, 3, 5, seed=2), drawn(3), drawn(3, seed=2).abs()
    total, product, counts = drawn(3, seed=3), drawn(3, seed=4), torch.tensor([8, 12], dtype=torch.int32)
    for name, weight in (("plain", None), ("scaled", drawn(3, seed=5))):
        given = {"grad": grad, "x": x, "mean": mean, "inverse": inverse, "weight": weight}
        results = torch_side(grad, x, mean, inverse, weight, total, product, counts)
        yield name, results, mindspore_side(**given, total=total, product=product, counts=counts)
