"""Operators on the emulated card compute what the CPU computes, in the same memory, bit for bit."""

from __future__ import annotations

import pytest
from running import Run

_TRAIN = """
import copy
import torch
from torch import nn

torch.manual_seed(0)
CNN = lambda: nn.Sequential(
    nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(8, 16, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10),
)
MLP = lambda: nn.Sequential(
    nn.Flatten(), nn.Linear(3 * 16 * 16, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 10)
)
model = {make}()
twin = copy.deepcopy(model).npu()
optimizers = [torch.optim.{optimizer}(m.parameters(), lr=0.01) for m in (model, twin)]
for step in range(3):
    x, y = torch.randn(4, 3, 16, 16), torch.randint(0, 10, (4,))
    losses = []
    for network, optimizer, move in zip((model, twin), optimizers, (torch.Tensor.cpu, lambda t: t.npu())):
        loss = nn.functional.cross_entropy(network(move(x)), move(y))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[0] == losses[1], losses
for ours, theirs in zip(model.parameters(), twin.parameters()):
    assert torch.equal(ours, theirs.cpu())
"""


@pytest.mark.parametrize("make", ["CNN", "MLP"])
@pytest.mark.parametrize("optimizer", ["SGD", "AdamW"])
def test_training_equals_the_cpu(run: Run, make: str, optimizer: str) -> None:
    run(_TRAIN.format(make=make, optimizer=optimizer))


def test_results_share_memory_as_on_the_cpu(run: Run) -> None:
    program = """
import torch
x = torch.arange(6.0).npu().reshape(2, 3)
assert x.add_(1) is x
assert x.t().data_ptr() == x.data_ptr()
view = x[0]
view.mul_(10)
assert x[0].cpu().tolist() == [10.0, 20.0, 30.0]
out = torch.empty(0, device="npu")
assert torch.add(x, x, out=out) is out and out.shape == (2, 3)
parts = x.split(1)
parts[1].zero_()
assert x[1].sum().item() == 0
a, b = torch.empty(0, device="npu"), torch.empty(0, device="npu", dtype=torch.long)
torch.max(x, 1, out=(a, b))
assert a.cpu().tolist() == [30.0, 0.0]
assert out.is_contiguous() and x.t().contiguous().is_contiguous()
"""
    run(program)


def test_tensors_of_two_devices_are_refused(run: Run) -> None:
    program = """
import torch
x = torch.ones(3).npu()
print((x + torch.tensor(1.0)).device)
for other in (torch.ones(3), torch.ones(3, device="npu:1")):
    try:
        x + other
    except RuntimeError as error:
        print("Expected all tensors to be on the same device" in str(error))
"""
    assert run(program).stdout == "npu:0\nTrue\nTrue\n"


def test_copies_between_cards_types_and_layouts(run: Run) -> None:
    program = """
import torch
x = torch.randn(4, 5)
y = x.npu()
assert torch.equal(y.to("npu:1").cpu(), x)
assert torch.equal(y.half().cpu(), x.half())
assert torch.equal(y.t().cpu(), x.t())
assert torch.equal(x.t().npu().cpu(), x.t())
z = torch.zeros(5, 4).npu()
z.copy_(x.t())
assert torch.equal(z.cpu(), x.t())
assert torch.equal(x.pin_memory().npu(non_blocking=True).cpu(), x)
"""
    run(program)


def test_autocast_and_grad_scaler(run: Run) -> None:
    program = """
import torch
layer = torch.nn.Linear(4, 4).npu()
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("npu", init_scale=4.0)
with torch.autocast("npu", dtype=torch.float16):
    out = layer(torch.ones(2, 4).npu())
print(out.dtype)
scaler.scale(out.float().sum()).backward()
scaler.step(optimizer)
scaler.update()
before = layer.weight.detach().cpu()
scaler.scale(layer(torch.full((2, 4), float("inf")).npu()).sum()).backward()
scaler.step(optimizer)
scaler.update()
print(torch.equal(before, layer.weight.detach().cpu()), scaler.get_scale())
"""
    assert run(program).stdout == "torch.float16\nTrue 2.0\n"


def test_gradients_of_composite_operators(run: Run) -> None:
    program = """
import torch
from torch.nn import functional as F
cases = [
    (torch.matmul, (2, 3, 4), (2, 4, 5)),
    (torch.matmul, (2, 3, 4), (4, 5)),
    (lambda a, b: F.linear(a, b), (2, 3, 4), (5, 4)),
    (F.binary_cross_entropy_with_logits, (3, 4), (3, 4)),
    (lambda a, b: torch.where(a > 0, a, b), (5,), (5,)),
]
for function, *shapes in cases:
    host = [torch.randn(shape).requires_grad_() for shape in shapes]
    card = [tensor.detach().npu().requires_grad_() for tensor in host]
    for inputs in (host, card):
        function(*inputs).sum().backward()
    for ours, theirs in zip(host, card):
        assert torch.equal(ours.grad, theirs.grad.cpu()), function
"""
    run(program)


def test_results_are_contiguous_as_on_the_device(run: Run) -> None:
    # The accuracy of many training scripts counts on it: on the CPU and on CUDA `view` fails here.
    program = """
import torch
predicted, target = torch.rand(8, 10).npu().topk(5).indices.t(), torch.arange(8).npu()
correct = predicted.eq(target.view(1, -1).expand_as(predicted))
assert correct[:2].view(-1).shape == (16,)
x = torch.randn(2, 3, 4).npu()
assert x.transpose(0, 2).clone().is_contiguous()
assert torch.equal((x.transpose(0, 2) + 1).cpu(), x.cpu().transpose(0, 2) + 1)
assert x.transpose(0, 2).data_ptr() == x.data_ptr()
"""
    run(program)


def test_quantised_tensors_keep_scale_and_zero_point(run: Run) -> None:
    program = """
import torch
torch.manual_seed(0)
x = torch.randn(3, 4, 5)
for dtype in (torch.qint8, torch.quint8, torch.qint32):
    ours, theirs = (torch.quantize_per_tensor(t, 0.1, 3, dtype) for t in (x.npu(), x))
    assert (ours.q_scale(), ours.q_zero_point(), ours.device.type) == (0.1, 3, "npu")
    assert torch.equal(ours.int_repr().cpu(), theirs.int_repr())
    assert torch.equal(ours.dequantize().cpu(), theirs.dequantize())
    scales, zeros = torch.rand(4) + 0.1, torch.arange(4)
    theirs = torch.quantize_per_channel(x, scales, zeros, 1, dtype)
    ours = torch.quantize_per_channel(x.npu(), scales.npu(), zeros.npu(), 1, dtype)
    assert ours.q_per_channel_axis() == 1
    assert torch.equal(ours.q_per_channel_scales().cpu(), theirs.q_per_channel_scales())
    assert torch.equal(ours.int_repr().cpu(), theirs.int_repr())
    torch.testing.assert_close(ours.dequantize().cpu().float(), theirs.dequantize())
"""
    run(program)


def test_reading_data_prints_nothing_of_ours(run: Run) -> None:
    # torch_npu asks libmspti whether somebody listens whenever a batch is read.
    program = """
import torch
from torch.utils.data import DataLoader, TensorDataset
print([batch.npu().sum().item() for batch, in DataLoader(TensorDataset(torch.ones(4, 2)), 2)])
"""
    done = run(program)
    assert done.stdout == "[4.0, 4.0]\n"
    assert "is not emulated" not in done.stderr


@pytest.mark.parametrize("optimizer", ["SparseAdam", "SGD", "Adagrad"])
def test_sparse_gradients_train_as_on_the_cpu(run: Run, optimizer: str) -> None:
    program = f"""
import copy
import torch
torch.manual_seed(0)
table = torch.nn.Embedding(10, 4, sparse=True)
twin = copy.deepcopy(table).npu()
indices = torch.tensor([1, 2, 1, 5])
for network, where in ((table, indices), (twin, indices.npu())):
    optimizer = torch.optim.{optimizer}(network.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        network(where).pow(2).sum().backward()
        optimizer.step()
assert twin.weight.grad.is_sparse and twin.weight.grad._nnz() == 4
ours, theirs = twin.weight.grad.coalesce(), table.weight.grad.coalesce()
assert torch.equal(ours.indices().cpu(), theirs.indices()) and torch.equal(ours.values().cpu(), theirs.values())
assert torch.equal(twin.weight.cpu(), table.weight)
"""
    run(program)
