"""Matrix products, and the layers and gradients that are made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jumar.selftest.case import FLOAT, HALVES, rows

if TYPE_CHECKING:
    from jumar.selftest.given import Given


def _linear_gradients(g: Given) -> Any:
    x, weight, bias = g.learnt(12, 40), g.learnt(24, 40), g.learnt(24)
    out = g.torch.nn.functional.linear(x, weight, bias)
    out.backward(g.normal(12, 24))
    return {"out": out, "x": x.grad, "weight": weight.grad, "bias": bias.grad}


CASES = [
    *rows(
        {
            "mm": lambda g: g.normal(48, 96) @ g.normal(96, 40),
            "mm-transposed": lambda g: g.normal(96, 48).t() @ g.normal(40, 96).t(),
            "mm-odd-sizes": lambda g: g.normal(17, 33) @ g.normal(33, 7),
            "mm-long": lambda g: g.normal(4, 2048) @ g.normal(2048, 4),
            "mv": lambda g: g.normal(48, 96) @ g.normal(96),
            "dot": lambda g: g.normal(500).dot(g.normal(500)),
            "bmm": lambda g: g.normal(5, 20, 30) @ g.normal(5, 30, 10),
            "matmul-broadcast": lambda g: g.normal(3, 1, 20, 30) @ g.normal(5, 30, 10),
            "addmm": lambda g: g.torch.addmm(g.normal(48, 40), g.normal(48, 96), g.normal(96, 40), beta=0.5, alpha=2),
            "baddbmm": lambda g: g.torch.baddbmm(g.normal(5, 20, 10), g.normal(5, 20, 30), g.normal(5, 30, 10)),
            "linear": lambda g: g.torch.nn.functional.linear(g.normal(6, 12, 40), g.normal(24, 40), g.normal(24)),
            "linear-gradients": _linear_gradients,
            "einsum": lambda g: g.torch.einsum("bij,bkj->bik", g.normal(3, 20, 30), g.normal(3, 10, 30)),
            "outer": lambda g: g.torch.outer(g.normal(30), g.normal(20)),
        },
        types=HALVES,
    ),
    *rows(
        {
            "triangles": lambda g: {"lower": g.normal(20, 20).tril(), "upper": g.normal(20, 20).triu(1)},
            "kron": lambda g: g.torch.kron(g.normal(4, 3), g.normal(2, 5)),
        },
        types=FLOAT,
        exact=True,
    ),
]
