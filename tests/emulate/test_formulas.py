"""Formulas: numpy and torch give the same, and each backward is what autograd makes of its forward."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from jumar.emulate.formulas import activation, norm, optimizer, quantize, rotary


def drawn(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed + sum(shape)))


def check(formula: Callable[..., Any], *arguments: Any) -> Any:
    """The results for torch, which numpy must give too."""
    expected = formula(*arguments)
    with np.errstate(all="ignore"):  # as the bridge calls them
        results = formula(*(one.numpy() if isinstance(one, Tensor) else one for one in arguments))
    for one, other in zip(_many(results), _many(expected), strict=True):
        assert (one is None) == (other is None)
        if other is not None:
            assert not isinstance(one, Tensor) and np.shape(one) == tuple(other.shape)
            np.testing.assert_allclose(one, other.numpy(), rtol=1e-9, atol=1e-12)
    return expected


def check_backward(formula: Callable[..., Any], inputs: Sequence[Tensor], grad: Tensor, found: Sequence[Any]) -> None:
    """The gradients of the first result for the inputs, in their order."""
    leaves = [one.clone().requires_grad_() for one in inputs]
    expected = torch.autograd.grad(_many(formula(*leaves))[0], leaves, grad)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)


def _many(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)


@pytest.mark.parametrize("axes", [1, 2])
def test_rms_norm(axes: int) -> None:
    x, gamma, grad = drawn(2, 3, 4), drawn(2, 3, 4, seed=2)[(0,) * (3 - axes)], drawn(2, 3, 4, seed=3)
    _, rstd = check(norm.rms_norm, x, gamma, 1e-6)
    found = check(norm.rms_norm_backward, grad, x, gamma, rstd)
    check_backward(lambda *a: norm.rms_norm(*a, 1e-6), (x, gamma), grad, found)


@pytest.mark.parametrize("axes", [1, 2])
def test_layer_norm(axes: int) -> None:
    x, grad = drawn(2, 3, 4), drawn(2, 3, 4, seed=3)
    gamma, beta = (drawn(2, 3, 4, seed=seed)[(0,) * (3 - axes)] for seed in (4, 5))
    y, mean, rstd = check(norm.layer_norm, x, gamma, beta, 1e-5)
    torch.testing.assert_close(y, torch.nn.functional.layer_norm(x, gamma.shape, gamma, beta, 1e-5))
    found = check(norm.layer_norm_backward, grad, x, gamma, mean, rstd)
    check_backward(lambda *a: norm.layer_norm(*a, 1e-5), (x, gamma, beta), grad, found)


@pytest.mark.parametrize("scaled", [False, True])
def test_group_norm(scaled: bool) -> None:
    x = drawn(2, 6, 3, 2)
    gamma, beta = (drawn(6, seed=2), drawn(6, seed=3)) if scaled else (None, None)
    y, mean, rstd = check(norm.group_norm, x, 3, gamma, beta, 1e-5)
    torch.testing.assert_close(y, torch.nn.functional.group_norm(x, 3, gamma, beta, 1e-5))
    assert mean.shape == rstd.shape == (2, 3)


@pytest.mark.parametrize("scaled", [False, True])
def test_batch_norm_over_two_cards_is_that_of_the_whole_batch(scaled: bool) -> None:
    x, grad = drawn(5, 3, 4), drawn(5, 3, 4, seed=2)
    gamma, beta = (drawn(3, seed=3), drawn(3, seed=4)) if scaled else (None, None)
    parts = [check(norm.batch_statistics, part, 1e-5) for part in x.split((2, 3))]
    means, rstds = (torch.stack(one) for one in zip(*parts, strict=True))
    counts = torch.tensor([8.0, 12.0], dtype=torch.float64)
    mean, variance, total = check(norm.gathered_statistics, means, rstds, counts, 1e-5)
    rstd = torch.rsqrt(variance + 1e-5)
    y = check(norm.batch_norm, x, gamma, beta, mean, rstd)
    torch.testing.assert_close(y, torch.nn.functional.batch_norm(x, None, None, gamma, beta, True, 0.1, 1e-5))
    sums = check(norm.batch_norm_sums, grad, x, mean)
    found = check(norm.batch_norm_backward, grad, x, mean, rstd, gamma, *sums, total)

    def whole(x: Tensor) -> Tensor:
        return norm.batch_norm(x, gamma, beta, *norm.batch_statistics(x, 1e-5))

    check_backward(whole, (x,), grad, (found,))


def test_running_statistics_move_by_the_momentum() -> None:
    moved = check(norm.running_statistics, drawn(3), drawn(3, seed=2), 0.25)
    torch.testing.assert_close(moved, torch.lerp(drawn(3), drawn(3, seed=2), 0.25))


@pytest.mark.parametrize("amsgrad", [False, True])
@pytest.mark.parametrize("maximize", [False, True])
def test_adam_takes_the_steps_of_torch(amsgrad: bool, maximize: bool) -> None:
    weight = drawn(4, 3).requires_grad_()
    options: dict[str, Any] = {"lr": 0.1, "betas": (0.8, 0.95), "eps": 1e-6, "weight_decay": 0.02}
    own = torch.optim.AdamW([weight], **options, amsgrad=amsgrad, maximize=maximize)
    state = [weight.detach().clone(), *(torch.zeros(4, 3, dtype=torch.float64) for _ in range(3))]
    for step in range(1, 4):
        grad = weight.grad = drawn(4, 3, seed=10 * step)
        given = [*state[:3], state[3] if amsgrad else None, grad]

        def run(*arrays: Any, step: int = step) -> Any:
            return optimizer.adam_w(
                *arrays, rate=0.1, beta=optimizer.Decays(0.8, 0.95), power=optimizer.Decays(0.8**step, 0.95**step),
                decay=0.02, epsilon=1e-6, maximize=maximize,
            )  # fmt: skip

        found = check(run, *given)
        own.step()
        state = [one if one is not None else state[3] for one in found]
        torch.testing.assert_close(state[0], weight.detach())


@pytest.mark.parametrize("step_size", [None, 0.3])
def test_berts_adam_has_no_bias_correction(step_size: float | None) -> None:
    def run(*arrays: Any) -> Any:
        beta = optimizer.Decays(0.9, 0.99)
        return optimizer.bert_adam(*arrays, rate=0.1, beta=beta, decay=0.01, epsilon=1e-6, step_size=step_size)

    weight, grad, zero = drawn(5), drawn(5, seed=2), torch.zeros(5, dtype=torch.float64)
    found = check(run, weight, zero, zero, grad)[0]
    update = 0.1 * grad / ((0.01 * grad**2).sqrt() + 1e-6)
    torch.testing.assert_close(found, weight - (step_size or 0.1) * update - 0.1 * 0.01 * weight)


@pytest.mark.parametrize("mode", rotary.MODES)
@pytest.mark.parametrize("shape", [(2, 1, 5, 8), (5, 8), (2, 3, 5, 8)])
def test_rotation(mode: str, shape: tuple[int, ...]) -> None:
    x, grad, cos, sin = drawn(2, 3, 5, 8), drawn(2, 3, 5, 8, seed=2), drawn(*shape, seed=3), drawn(*shape, seed=4)
    check(rotary.rotate, x, cos, sin, mode)
    found = check(rotary.rotate_backward, grad, x, cos, sin, mode)
    check_backward(lambda *a: rotary.rotate(*a, mode), (x, cos, sin), grad, found)


def test_orders_of_pairs_differ_by_a_permutation() -> None:
    x, angle = drawn(3, 8), drawn(3, 4, seed=2)
    cos, sin = (torch.cat([one, one], -1) for one in (angle.cos(), angle.sin()))
    halves = rotary.rotate(rotary.halved(x), cos, sin)
    torch.testing.assert_close(rotary.rotate(x, cos, sin, "interleave-half"), halves)
    neighbours = rotary.rotate(x, *(rotary.interleaved(one) for one in (cos, sin)), "interleave")
    torch.testing.assert_close(rotary.halved(neighbours), halves)
    torch.testing.assert_close(rotary.interleaved(rotary.halved(x)), x)


@pytest.mark.parametrize("axis", [-1, -2, None])
def test_rows_of_zeros_stay_zero_and_others_use_the_whole_range(axis: int | None) -> None:
    x = drawn(4, 6)
    x[1] = 0
    x[:, 2] = 0
    quotients, scale = check(quantize.by_rows, x, axis)
    steps = check(quantize.to_steps, quotients)
    torch.testing.assert_close(steps * scale, x, rtol=0, atol=float(scale.max()) / 2)
    assert steps.abs().max() == 127 and not steps.isnan().any()
    assert not check(quantize.by_rows, torch.zeros(2, 3), axis)[0].any()


def test_steps_are_rounded_half_to_even_within_the_type() -> None:
    assert quantize.to_steps(np.array([0.5, 1.5, -2.5, 200.0, -200.0])).tolist() == [0, 2, -2, 127, -128]


_UNITS: dict[str, tuple[Callable[..., Any], Callable[..., Any], dict[str, Any]]] = {
    "fast gelu": (activation.fast_gelu, activation.fast_gelu_backward, {}),
    "swiglu": (activation.swiglu, activation.swiglu_backward, {"axis": 1}),
    "glu": (activation.glu, activation.glu_backward, {"axis": 1}),
    "geglu": (activation.geglu, activation.geglu_backward, {"axis": 1}),
    "geglu of the left": (activation.geglu, activation.geglu_backward, {"axis": 1, "gate_first": True}),
    "geglu by erf": (activation.geglu, activation.geglu_backward, {"axis": 1, "approximate": "none"}),
}


@pytest.mark.parametrize("name", _UNITS)
def test_activations(name: str) -> None:
    forward, backward, options = _UNITS[name]
    x = drawn(3, 4, 5)
    y = _many(check(lambda x: forward(x, **options), x))[0]
    grad = drawn(*y.shape, seed=2)
    found = check(lambda grad, x: backward(grad, x, **options), grad, x)
    check_backward(lambda x: forward(x, **options), (x,), grad, (found,))


@pytest.mark.parametrize("name", [*activation.INSIDE, *activation.GATES])
def test_activations_inside_of_operators_by_name(name: str) -> None:
    check(activation.inside, drawn(3, 4), name)


def test_a_clipped_gate_is_kept_within_its_limit() -> None:
    def run(*arrays: Any) -> Any:
        return activation.clipped_swiglu(*arrays, alpha=1.702, limit=0.5, bias=1.0)

    found = check(run, 3 * drawn(4, 5), 3 * drawn(4, 5, seed=2))
    assert found.max() <= 0.5 * 1.5
