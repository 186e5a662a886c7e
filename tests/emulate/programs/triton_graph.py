"""Triton kernels in an NPU graph: captured without effect, replayed with what the tensors hold then."""

import torch
import torch_npu  # noqa: F401
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, inside) + tl.load(y + at, inside), inside)


@triton.jit
def count(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(x + at, tl.load(x + at, inside) + 1, inside)


x, y = torch.arange(10.0).npu(), torch.ones(10).npu()
out, runs = torch.zeros(10).npu(), torch.zeros(10).npu()
graph = torch.npu.NPUGraph()
with torch.npu.graph(graph):
    twice = x * 2
    add[(2,)](twice, y, out, 10, BLOCK=8)
    count[(2,)](runs, 10, BLOCK=8)
    copied = out + 0
torch.npu.synchronize()
assert runs.cpu().tolist() == out.cpu().tolist() == [0.0] * 10

graph.replay()
torch.npu.synchronize()
assert out.cpu().tolist() == copied.cpu().tolist() == [2.0 * i + 1 for i in range(10)]
x.fill_(5.0)
graph.replay()
torch.npu.synchronize()
assert out.cpu().tolist() == copied.cpu().tolist() == [11.0] * 10
assert runs.cpu().tolist() == [2.0] * 10
print("done")
