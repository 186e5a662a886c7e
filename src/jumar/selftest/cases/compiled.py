"""`torch.compile` on the card: the tracer alone, and inductor where a Triton for the card is installed."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

from jumar.selftest.case import FLOAT, Case

if TYPE_CHECKING:
    from jumar.selftest.given import Given


def _function(g: Given) -> Any:
    f = g.torch.nn.functional
    return lambda x, weight: f.gelu(x @ weight).softmax(-1) * x.sum(-1, keepdim=True)


def _compiled(backend: str) -> Any:
    def run(g: Given) -> Any:
        x, weight = g.learnt(12, 20), g.learnt(20, 16, scale=0.3)
        function = _function(g) if g.device == "cpu" else g.torch.compile(_function(g), backend=backend)
        out = function(x, weight)
        out.backward(g.normal(12, 16))
        return {"out": out, "x": x.grad, "weight": weight.grad}

    return run


def _sizes(g: Given) -> Any:
    """One graph for several sizes."""
    function = _function(g) if g.device == "cpu" else g.torch.compile(_function(g), backend="aot_eager", dynamic=True)
    weight = g.normal(20, 16, scale=0.3)
    return tuple(function(g.normal(rows, 20), weight) for rows in (3, 7, 12))


CASES = [
    Case("traced", _compiled("aot_eager"), FLOAT, seconds=180, needs=("compile",)),
    Case("sizes", _sizes, FLOAT, seconds=180, needs=("compile",)),
]
if importlib.util.find_spec("triton"):
    CASES.append(Case("inductor", _compiled("inductor"), FLOAT, seconds=180, needs=("compile",)))
