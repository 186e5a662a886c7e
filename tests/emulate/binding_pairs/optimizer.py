"""Steps of optimizers."""

from __future__ import annotations

import torch

from . import Results, Side, drawn, pair


@pair("npu_apply_adam_w.out", "aclnnApplyAdamWV2")
def adam_w(torch_side: Side, mindspore_side: Side) -> Results:
    """torch gives the powers of the decays before the step, MindSpore how many steps there were."""
    grad, steps = drawn(4, 3, seed=9), 3
    rates = {"rate": 0.1, "beta1": 0.8, "beta2": 0.95, "decay": 0.02, "epsilon": 1e-6}
    for amsgrad in (False, True):
        for maximize in (False, True):
            state = [drawn(4, 3), drawn(4, 3, seed=2), *(drawn(4, 3, seed=seed).abs() for seed in (3, 4))]
            given = dict(zip(("weight", "mean", "square", "largest"), (one.clone() for one in state), strict=True))
            step, flags = torch.tensor([float(steps)]), {"amsgrad": amsgrad, "maximize": maximize}
            others = mindspore_side(**given, grad=grad, step=step, **rates, **flags)
            largest = state[3] if amsgrad else None
            torch_side(
                0.8**steps, 0.95**steps, 0.1, 0.02, 0.8, 0.95, 1e-6, grad, largest, amsgrad, maximize, out=state[:3]
            )
            results = [*state[:3], largest]
            yield f"{flags}", [None if one is None else one.numpy() for one in results], others
