"""What each parallel mode does to one product on these cards: what each rank holds, and the collectives in order."""

from __future__ import annotations

from jumar.core.compat import zip
from jumar.core.errors import UserError
from jumar.core.nearest import did_you_mean

MODES = {
    "data": "every card has the whole weight and its own rows",
    "column": "tensor parallel, first half of a pair: each card has some columns of the weight",
    "row": "tensor parallel, second half of a pair: each card has some rows of the weight",
    "pipeline": "each card has some of the layers",
    "shard": "every card computes with the whole weight but keeps only its part of weight and optimizer state",
    "sequence": "as tensor parallel, and norms between the pairs see only their part of the rows",
    "expert": "each card has some of the experts; tokens travel to theirs",
    "recompute": "one card: what is kept between the passes",
}


def modes(name: str) -> list[str]:
    if name in ("", "all"):
        return list(MODES)
    if name not in MODES:
        raise UserError(f"unknown mode: `{name}`", did_you_mean(name, MODES, f"known: {', '.join(MODES)}"))
    return [name]


def page(name: str, cards: int) -> list[str]:
    """The picture of one mode, for Y = X W with X of T rows and H columns, W of H rows and F columns."""
    lines = {
        "data": _data, "column": _column, "row": _row, "pipeline": _pipeline, "shard": _shard, "sequence": _sequence,
        "expert": _expert, "recompute": _recompute,
    }[name](cards)  # fmt: skip
    return [f"{name}: {MODES[name]}", "", *(f"  {line}" for line in lines), ""]


def _ranks(cards: int, x: str, w: str, y: str) -> list[str]:
    shown = list(range(cards)) if cards <= 4 else [0, 1, cards - 1]
    rows = [("rank", "X", "W", "Y = X W")]
    for rank in shown:
        if cards > 4 and rank == cards - 1:
            rows.append(("…", "", "", ""))
        rows.append((str(rank), x.format(r=rank, n=cards), w.format(r=rank, n=cards), y.format(r=rank, n=cards)))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _data(n: int) -> list[str]:
    return [
        f"  X            W            ┌ rows 0      of X ┐ rank 0   (each of {n} cards: T/{n} rows)",
        "┌─────┐     ┌──────┐       ├ rows 1      of X ┤ rank 1",
        "├─────┤  x  │whole │   =   ├ …                ┤",
        "└─────┘     └──────┘       └                  ┘",
        *_ranks(n, "rows {r} of {n}", "whole", "rows {r} of {n}"),
        "forward   no collective",
        "backward  AllReduce of dW over all cards (half of it hides behind the backward pass)",
        "memory    weights, gradients and state whole on every card; activations 1/n",
    ]


def _column(n: int) -> list[str]:
    return [
        "            ┌──┬──┬──┐         ┌──┬──┬──┐",
        "┌─────┐  x  │W0│W1│W2│   =     │Y0│Y1│Y2│   a column block on each card",
        "└─────┘     └──┴──┴──┘         └──┴──┴──┘",
        *_ranks(n, "whole", "columns {r} of {n}", "columns {r} of {n}"),
        "forward   no collective: the next product takes Y as it lies (mode `row`)",
        "backward  AllReduce of dX: every card has a part of the sum",
        "memory    W, dW and its state 1/n, Y 1/n, X whole",
    ]


def _row(n: int) -> list[str]:
    return [
        "┌──┬──┬──┐      ┌────┐",
        "│X0│X1│X2│   x  │ W0 │      Y = X0 W0 + X1 W1 + …",
        "└──┴──┴──┘      ├────┤      every card has one summand",
        "                │ W1 │",
        "                └────┘",
        *_ranks(n, "columns {r} of {n}", "rows {r} of {n}", "a summand, then whole"),
        "forward   AllReduce of Y",
        "backward  no collective",
        "memory    W, dW and its state 1/n, X 1/n, Y whole",
    ]


def _pipeline(n: int) -> list[str]:
    micro = n
    chart = []
    for stage in range(min(n, 4)):
        cells = ["  "] * stage + [f"F{m}" for m in range(micro)][: min(4, micro)]
        chart.append(f"stage {stage}  " + " ".join(cells))
    return [
        *chart,
        f"forward   Send and Receive of Y between neighbours; {n - 1} slots of each card stay empty",
        "backward  Send and Receive of dX the other way",
        f"memory    1/{n} of the layers; 1F1B keeps {n} micro-batches in flight on stage 0, 1 on the last",
    ]


def _shard(n: int) -> list[str]:
    return [
        *_ranks(n, "rows {r} of {n}", "keeps part {r} of {n}", "rows {r} of {n}"),
        "forward   AllGather of W before the product (in the computed dtype)",
        "backward  ReduceScatter of dW: each card gets the sum of its part",
        "memory    W and its state 1/n; the gathered W lives until its backward pass (level 3: gathered again)",
        "MindSpore the input of each ReduceScatter, the whole dW in float32, lives until the optimizer runs",
    ]


def _sequence(n: int) -> list[str]:
    return [
        *_ranks(n, "rows {r} of {n}", "columns {r} of {n}", "columns {r} of {n}"),
        "forward   AllGather of X before the pair, ReduceScatter of Y after it: together one AllReduce",
        "backward  the same two, the other way round",
        "memory    norms and residuals 1/n too",
    ]


def _expert(n: int) -> list[str]:
    return [
        *_ranks(n, "tokens for its experts", "experts {r} of {n}", "their tokens"),
        "forward   AlltoAll: tokens to their experts; AlltoAll: results back",
        "backward  the same two for the gradients",
        "memory    weights of the experts 1/n",
    ]


def _recompute(_: int) -> list[str]:
    return [
        "without   forward keeps  X ─ XW ─ act ─ …  of every layer until its backward pass",
        "with      forward keeps  X              of every layer; backward computes one layer again, then uses it",
        "forward   no collective; a tensor-parallel AllReduce inside the layer is done again",
        "memory    one tensor for each layer, and one whole layer at a time",
    ]
