"""What training and serving code calls beside attention: optimizers, experts, quantised products, boxes."""

from __future__ import annotations

from running import Run

from program_files import program_text

_OPTIMIZERS = program_text(__file__, "fused_optimizers")

_EXPERTS = program_text(__file__, "experts")

_QUANTISED = program_text(__file__, "quantised_products")

_BOXES = program_text(__file__, "boxes")


def test_fused_optimizers_take_the_steps_of_torch(run: Run) -> None:
    run(_OPTIMIZERS)


def test_a_layer_of_experts_equals_its_formula(run: Run) -> None:
    run(_EXPERTS)


def test_quantised_products_are_near_the_plain_one(run: Run) -> None:
    run(_QUANTISED)


def test_boxes_are_suppressed_and_overlap_as_they_lie(run: Run) -> None:
    run(_BOXES)


def test_adam_with_powers_of_one_goes_on(run: Run) -> None:
    program = """
import torch, torch_npu
state = [torch.ones(3).npu() for _ in range(3)]
step = torch_npu.npu_apply_adam(1, 1, 0.2, 0.9, 0.9, 1e-8, torch.ones(3).npu(), False, False, out=tuple(state))
assert step[0].isnan().all() and torch.equal(step[1].cpu(), torch.ones(3))
"""
    run(program)
