"""Compiled code on a card: numbers, gradients, memory, and NPU graphs that are replayed."""

from __future__ import annotations

import torch
import torch_npu  # noqa: F401
from torch._dynamo.utils import counters

torch._inductor.config.cpp.simdlen = 1  # plain loops compile faster
x = torch.randn(40, 30).npu()
w = torch.randn(30).npu().requires_grad_()


def layer(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return ((x * w).sin() + 1).sum(-1)


compiled = torch.compile(layer, fullgraph=True)
expected = torch.autograd.grad(layer(x, w).square().sum(), w)[0]
before = torch.npu.memory_allocated()
out = compiled(x, w)
kept = torch.npu.memory_allocated() - before
found = torch.autograd.grad(out.square().sum(), w)[0]
print("forward", torch.allclose(out, layer(x, w), rtol=1e-5), out.device)
print("backward", torch.allclose(found, expected, rtol=1e-4, atol=1e-5))
print("memory of the result", kept)

torch._inductor.config.fallback_random = True


def dropped(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return torch.nn.functional.dropout(x, 0.3), torch.empty(3, 5).npu(), torch.empty(6).view(2, 3).t().npu()


torch.manual_seed(4)
mask, *_ = dropped(x)
torch.manual_seed(4)
found, *empties = torch.compile(dropped)(x)
print("dropout", torch.equal(mask, found), [tuple(one.shape) for one in empties])

state = torch.zeros(6).npu()


def grow(y: torch.Tensor) -> torch.Tensor:
    return (y + state).cos() * 2


many, right = torch.compile(grow, mode="reduce-overhead"), []
for step in range(4):
    state += 1
    y = torch.full((6,), float(step)).npu()
    torch.compiler.npugraph_mark_step_begin()
    right.append(torch.allclose(many(y), grow(y)))
print("replayed", right, counters["inductor"]["npugraph_recorded_non_static_inputs"])
