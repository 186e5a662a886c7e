"""Views, joins, indices and scatters: values are moved, never computed, so every bit must be the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jumar.selftest.case import FLOAT, rows

if TYPE_CHECKING:
    from jumar.selftest.given import Given

MOVED = ("float32", "float16", "int64")


def _x(g: Given, *shape: int) -> Any:
    return g.normal(*shape) if g.dtype.is_floating_point else g.whole(*shape)


def _places(g: Given, *shape: int, high: int) -> Any:
    return g.whole(*shape, low=0, high=high, dtype=g.torch.int64)


def _written(g: Given) -> Any:
    x = _x(g, 9, 12)
    x[2:5, ::3] = 7
    x[x > 1] = 0
    return x


CASES = [
    *rows(
        {
            "transpose": lambda g: _x(g, 9, 12).t(),
            "permute": lambda g: _x(g, 3, 4, 5).permute(2, 0, 1),
            "contiguous": lambda g: _x(g, 9, 12).t().contiguous(),
            "reshape": lambda g: _x(g, 9, 12).t().reshape(6, 18),
            "slice": lambda g: _x(g, 9, 12)[1:8:2, 3:],
            "expand": lambda g: _x(g, 9, 1).expand(9, 4) + 0,
            "repeat": lambda g: _x(g, 3, 4).repeat(2, 3),
            "cat": lambda g: g.torch.cat([_x(g, 3, 4), _x(g, 5, 4)]),
            "stack": lambda g: g.torch.stack([_x(g, 3, 4), _x(g, 3, 4)], 1),
            "split": lambda g: tuple(_x(g, 9, 4).split(4)),
            "flip": lambda g: _x(g, 9, 4).flip(0),
            "roll": lambda g: _x(g, 9, 4).roll(2, 0),
            "index": lambda g: _x(g, 9, 12)[_places(g, 5, high=9)],
            "index-pairs": lambda g: _x(g, 9, 12)[_places(g, 5, high=9), _places(g, 5, high=12)],
            "index-select": lambda g: _x(g, 9, 12).index_select(1, _places(g, 5, high=12)),
            "gather": lambda g: _x(g, 9, 12).gather(1, _places(g, 9, 3, high=12)),
            "masked-select": lambda g: _x(g, 300)[g.chance(300)],
            "nonzero": lambda g: g.chance(9, 12).nonzero(),
            "written": _written,
            "index-fill": lambda g: _x(g, 9, 12).index_fill(0, _places(g, 3, high=9), 2),
            "tile": lambda g: _x(g, 3, 4).tile(2, 2),
            "unfold": lambda g: _x(g, 20).unfold(0, 5, 3),
            "diagonal": lambda g: _x(g, 6, 6).diagonal(1),
            "diag": lambda g: g.torch.diag(_x(g, 6)),
            "movedim": lambda g: _x(g, 3, 4, 5).movedim(0, 2).contiguous(),
            "repeat-interleave": lambda g: _x(g, 5, 3).repeat_interleave(3, 0),
            "masked-scatter": lambda g: _x(g, 40).masked_scatter(g.chance(40), _x(g, 40)),
            "index-copy": lambda g: _x(g, 9, 4).index_copy(0, g.torch.arange(3, device=g.device), _x(g, 3, 4)),
            "tril": lambda g: _x(g, 7, 9).tril(1),
            "triu": lambda g: _x(g, 7, 9).triu(-1),
            "unbind": lambda g: _x(g, 3, 5).unbind(1),
            "chunk": lambda g: tuple(t.contiguous() for t in _x(g, 3, 10).chunk(3, 1)),
            "pad": lambda g: g.torch.nn.functional.pad(_x(g, 3, 4), (1, 2, 0, 1)),
            "arange": lambda g: g.torch.arange(3, 40, 4, device=g.device),
            "full": lambda g: g.torch.full((3, 4), 2, dtype=g.dtype, device=g.device),
            "zeros-like": lambda g: g.torch.zeros_like(_x(g, 3, 4)),
        },
        types=MOVED,
        exact=True,
    ),
    *rows(
        {
            "scatter": lambda g: g.normal(9, 12).scatter(1, g.torch.arange(3, device=g.device).expand(9, 3), 0.5),
            "one-hot": lambda g: g.torch.nn.functional.one_hot(_places(g, 12, high=7), 7),
            "tril-indices": lambda g: g.torch.tril_indices(5, 5, device=g.device),
            "meshgrid": lambda g: g.torch.meshgrid(g.normal(4), g.normal(3), indexing="ij"),
        },
        exact=True,
    ),
    *rows(
        {
            "scatter-add": lambda g: g.normal(9, 5).scatter_add(0, _places(g, 20, 5, high=9), g.normal(20, 5)),
            "index-add": lambda g: g.normal(9, 5).index_add(0, _places(g, 20, high=9), g.normal(20, 5)),
            "index-put-summed": lambda g: g.normal(9).index_put(
                (_places(g, 20, high=9),), g.normal(20), accumulate=True
            ),
        },
        types=FLOAT,
    ),
]
