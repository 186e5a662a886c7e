"""Sums, means, extremes, sorting and counting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jumar.selftest.case import HALVES, WHOLE, rows

if TYPE_CHECKING:
    from jumar.selftest.given import Given


def _norm_gradient(g: Given) -> Any:
    x = g.learnt(9, 30)
    x.norm(dim=1).backward(g.normal(9))
    return x.grad


CASES = [
    *rows(
        {
            "sum": lambda g: g.normal(33, 257).sum(),
            "sum-rows": lambda g: g.normal(33, 257).sum(1),
            "sum-columns": lambda g: g.normal(257, 33).sum(0, keepdim=True),
            "mean": lambda g: g.normal(33, 257).mean(-1),
            "var": lambda g: g.normal(33, 257).var(-1),
            "std": lambda g: g.normal(33, 257).std(),
            "norm": lambda g: g.normal(33, 257).norm(dim=1),
            "norm-1": lambda g: g.normal(33, 257).norm(p=1),
            "prod": lambda g: g.uniform(33, 9, low=0.7, high=1.3).prod(1),
            "cumsum": lambda g: g.normal(12, 60).cumsum(1),
            "cumprod": lambda g: g.uniform(12, 20, low=0.8, high=1.2).cumprod(1),
            "norm-gradient": _norm_gradient,
            "mean-of-all": lambda g: g.normal(9, 5, 7).mean((0, 2)),
            "logsumexp": lambda g: g.normal(33, 60).logsumexp(1),
        },
        types=HALVES,
    ),
    *rows(
        {
            "max": lambda g: g.normal(33, 257).max(),
            "max-rows": lambda g: tuple(g.distinct(33, 50).max(1)),
            "min-rows": lambda g: tuple(g.distinct(33, 50).min(1)),
            "amin": lambda g: g.normal(33, 257).amin(0),
            "norm-inf": lambda g: g.normal(33, 257).norm(p=float("inf")),
            "cummax": lambda g: tuple(g.distinct(9, 40).cummax(1)),
            "median": lambda g: tuple(g.distinct(9, 41).median(1)),
            "kthvalue": lambda g: tuple(g.distinct(9, 41).kthvalue(7, 1)),
            "amax": lambda g: g.normal(33, 257).amax(1),
            "argmax": lambda g: g.distinct(33, 50).argmax(1),
            "argmin": lambda g: g.distinct(33, 50).argmin(1),
            "topk": lambda g: tuple(g.distinct(9, 60).topk(5)),
            "sort": lambda g: tuple(g.distinct(9, 60).sort(descending=True)),
            "argsort": lambda g: g.distinct(3, 60).argsort(),
            "any": lambda g: (g.normal(9, 60) > 1.5).any(1),
            "all": lambda g: (g.normal(9, 60) > -2.5).all(1),
            "count-nonzero": lambda g: g.normal(9, 60).round().count_nonzero(),
        },
        types=("float32", "float16"),
        exact=True,
    ),
    *rows(
        {
            "whole-sum": lambda g: g.whole(33, 257).sum(1),
            "whole-max": lambda g: g.whole(33, 257).max(),
            "whole-cumsum": lambda g: g.whole(300).cumsum(0),
            "unique": lambda g: g.whole(300, low=0, high=30).unique(),
            "whole-min": lambda g: g.whole(33, 257).min(),
            "whole-any": lambda g: g.whole(33, 5).any(1),
            "searchsorted": lambda g: g.torch.searchsorted(g.whole(40).sort()[0], g.whole(30)),
            "unique-counts": lambda g: g.whole(300, low=0, high=30).unique(return_counts=True),
            "bincount": lambda g: g.whole(300, low=0, high=30).bincount(),
        },
        types=WHOLE,
        exact=True,
    ),
]
