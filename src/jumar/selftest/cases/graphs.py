"""Graphs of the card: captured once, replayed with other inputs, and the same as the plain calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jumar.selftest.case import Case

if TYPE_CHECKING:
    from jumar.selftest.given import Given


def _replayed(g: Given) -> Any:
    npu, torch = g.torch.npu, g.torch
    model, x = g.module(torch.nn.Linear, 16, 8), g.normal(4, 16)
    with torch.no_grad():
        model(x)
        graph = npu.NPUGraph()
        with npu.graph(graph):
            y = model(x).relu()
        found = []
        for _ in range(3):
            x.copy_(g.normal(4, 16))
            graph.replay()
            npu.synchronize()
            found.append(y.clone())
        plain = model(x).relu()
    return {"replays": torch.stack(found), "plain": plain, "same": bool(torch.equal(plain, found[-1]))}


def _step(g: Given) -> Any:
    """A whole training step in a graph."""
    npu, torch = g.torch.npu, g.torch
    model, x = g.module(torch.nn.Linear, 8, 1), g.normal(4, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

    def step() -> None:
        optimizer.zero_grad(set_to_none=False)
        model(x).square().sum().backward()
        optimizer.step()

    side = npu.Stream()
    side.wait_stream(npu.current_stream())
    with npu.stream(side):
        step()
    npu.current_stream().wait_stream(side)
    graph = npu.NPUGraph()
    with npu.graph(graph):
        step()
    for _ in range(3):
        graph.replay()
    npu.synchronize()
    return {"weight": model.weight.detach().clone()}


CASES = [
    Case("replayed", _replayed, reference=False, must=True, needs=("npu.NPUGraph",)),
    Case("training-step", _step, reference=False, needs=("npu.NPUGraph",)),
]
