"""Operators on the emulated card compute what the CPU computes, in the same memory, bit for bit."""

from __future__ import annotations

import pytest
from running import Run

from program_files import program_text

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
    program = program_text(__file__, "shared_memory_of_views")
    run(program)


def test_tensors_of_two_devices_are_refused(run: Run) -> None:
    program = program_text(__file__, "two_devices")
    assert run(program).stdout == "npu:0\nTrue\nTrue\n"


def test_copies_between_cards_types_and_layouts(run: Run) -> None:
    program = program_text(__file__, "copies")
    run(program)


def test_autocast_and_grad_scaler(run: Run) -> None:
    program = program_text(__file__, "autocast_and_grad_scaler")
    assert run(program).stdout == "torch.float16\nTrue 2.0\n"


def test_gradients_of_composite_operators(run: Run) -> None:
    program = program_text(__file__, "composite_gradients")
    run(program)


def test_results_are_contiguous_as_on_the_device(run: Run) -> None:
    # The accuracy of many training scripts counts on it: on the CPU and on CUDA `view` fails here.
    program = program_text(__file__, "contiguous_results")
    run(program)


def test_quantised_tensors_keep_scale_and_zero_point(run: Run) -> None:
    program = program_text(__file__, "quantised_tensors")
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
    run(program_text(__file__, "sparse_gradients"), OPTIMIZER=optimizer)
