"""Pooling keeps an int8 mask (MaxPool2dWithIndicesKernelNpuOpApi.cpp:136), int32 positions on the 950 (:140), and the
gradient takes what was kept (MaxPool2dWithIndicesBackwardKernelNpuOpApi.cpp:42): results are those of float32 on the
CPU, rounded once."""

import itertools
import os

import torch
import torch_npu  # noqa: F401
from torch.nn import functional

torch.manual_seed(0)
as_positions = "950" in os.environ["JUMAR_SOC"] or os.environ.get("TORCH_NPU_USE_COMPATIBLE_IMPL") == "1"
pool = torch.ops.aten.max_pool2d_with_indices
compared = 0
for shape, size, step, padding, gap, up in itertools.product(
    ((2, 3, 9, 8), (3, 7, 10)), ((2,), (3, 2), (3, 3)), ((), (1,), (2, 3)), (0, 1), (1, 2), (False, True)
):
    x = torch.randn(shape).to((torch.float32, torch.float16)[compared % 2])
    y, wide = x.npu().requires_grad_(), x.float().requires_grad_()
    words = (list(size), list(step), [padding], [gap], up)
    expected, places = pool(wide, *words)
    got, kept = pool(y, *words)
    assert torch.equal(got.cpu(), expected.to(x.dtype)), words
    if as_positions:
        assert kept.dtype == torch.int32 and torch.equal(kept.cpu().long(), places)
    else:
        count = got.shape[-2] * got.shape[-1]
        rows = size[0] * size[-1]
        assert kept.dtype == torch.int8 and kept.shape == (*shape[:-2], rows, ((count + 15) // 16 + 1) * 32)
        assert (
            torch.equal(kept.sum(-2)[..., :count].cpu(), torch.ones(*shape[:-2], count)) and not kept[..., count:].any()
        )
    grad = torch.randn_like(expected).to(x.dtype)
    got.backward(grad.npu())
    expected.backward(grad.float())
    assert torch.equal(y.grad.cpu(), wide.grad.to(x.dtype)), words
    compared += 1
assert compared == 144

image = torch.randn(1, 2, 4, 4)
out, kept = (
    torch.empty(0, device="npu"),
    torch.empty(0, dtype=torch.int32 if as_positions else torch.int8, device="npu"),
)
pool.out(image.npu(), [2, 2], out=out, indices=kept)
assert torch.equal(out.cpu(), functional.max_pool2d(image, 2))
back = torch.ops.aten.max_pool2d_with_indices_backward
into = torch.empty(0, device="npu")
back.grad_input(out, image.npu(), [2, 2], [], [0, 0], [1, 1], False, kept, grad_input=into)
assert torch.equal(into, back(out, image.npu(), [2, 2], [], [0, 0], [1, 1], False, kept)) and into.count_nonzero() == 8

# Positions go back into an image; a mask is no list of positions and is refused.
try:
    whole = functional.max_unpool2d(*functional.max_pool2d(image.npu(), 2, return_indices=True), 2)
except RuntimeError:
    assert not as_positions
else:
    assert as_positions and torch.equal(whole, into)

graph = torch.npu.NPUGraph()
given = image.npu()
with torch.npu.graph(graph):
    pooled = functional.max_pool2d(given, 2)
given.copy_(image.flip(-1))
graph.replay()
assert torch.equal(pooled.cpu(), functional.max_pool2d(image.flip(-1), 2))
