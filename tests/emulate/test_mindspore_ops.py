"""What MindSpore's process computes with numpy for the stand-ins, against torch; and the way there."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as functional
from stand_ins import Library
from torch import Tensor

from jumar.core.compat import tomllib
from jumar.emulate.mindspore_ops import (
    attention,
    ctc,
    experts,
    grouped,
    older_matrix,
    pooling,
    recurrent,
    registry,
    resize,
    sampling,
    volume,
)

_API = Path(__file__).resolve().parents[2] / "native" / "api" / "mindspore"
_INSIDE = ("aclnnConvolution", "aclnnConvolutionBackward")  # called by the kernel for images, which has the row


def _random(*shape: int) -> Tensor:
    torch.manual_seed(sum(shape))
    return torch.randn(*shape)


def _same(found: Any, expected: Tensor, near: float = 1e-4) -> None:
    assert np.asarray(found).shape == tuple(expected.shape)
    np.testing.assert_allclose(found, expected.detach().numpy(), rtol=near, atol=near)


def _gradients(run: Any, *inputs: Tensor) -> tuple[Tensor, Tensor, tuple[Tensor, ...]]:
    """A result, a gradient for it, and what it becomes behind the inputs."""
    held = [one.clone().requires_grad_() for one in inputs]
    out = run(*held)
    grad = _random(*out.shape)
    return out, grad, torch.autograd.grad(out, held, grad)


def _rows() -> dict[str, str]:
    """The parameters of everything that MindSpore's process computes."""
    calls = tomllib.loads((_API / "opapi.toml").read_text("utf-8"))
    types = tomllib.loads((_API / "acl_op_compiler.toml").read_text("utf-8"))
    kernels = {**tomllib.loads((_API.parent / "opapi.toml").read_text("utf-8"))["works"], **calls["works"]}
    wide = {name: kernels[name] for name in (*calls["complex"], *_INSIDE)}
    assert {*types["complex"]} <= {*types["works"]}
    assert not {*types["bridged"]} & {*types["works"]}
    for rows in (calls["bridged"], types["bridged"], calls["complex"], types["complex"]):
        assert list(rows) == sorted(rows)
    return {**calls["bridged"], **types["bridged"], **wide, **types["complex"]}


def test_every_row_has_a_function_and_every_function_a_row() -> None:
    assert {*registry.operators()} == {*_rows()}


def test_functions_have_the_parameters_of_their_rows() -> None:
    wrong = {}
    for name, row in _rows().items():
        operator = registry.find(name)
        if not operator.by_name:
            continue
        names = [part.split(" ")[1] for part in row.split(", ") if part.split(" ")[0] not in ("Out", "Outs")]
        parameters = inspect.signature(operator.function).parameters.values()
        takes_all = any(one.kind is one.VAR_KEYWORD for one in parameters)
        known = {one.name for one in parameters}
        needed = {one.name for one in parameters if one.default is one.empty} - {"outputs"}
        if not needed <= {*names} or not ({*names} <= known or takes_all):
            wrong[name] = (sorted(known), row)
    assert not wrong


@pytest.mark.parametrize("mode", [0, 2, 4])
@pytest.mark.parametrize("layout", ["BNSD", "BSND", "BSH", "SBH"])
def test_attention_and_its_gradient(layout: str, mode: int) -> None:
    q, k, v = _random(2, 4, 6, 8), _random(2, 2, 6, 8), _random(2, 2, 6, 8)
    near = torch.arange(6) - torch.arange(6)[:, None]
    seen = {0: near <= 10, 2: near <= 0, 4: (near <= 1) & (near >= -2)}[mode]

    def formula(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        k, v = (one.repeat_interleave(2, 1) for one in (k, v))
        return functional.scaled_dot_product_attention(q, k, v, seen, scale=0.3)

    out, grad, expected = _gradients(formula, q, k, v)
    call = attention.Call(4, layout, 0.3, np.ones(1) if mode else None, mode, before=2, after=1)
    call = call if mode else call._replace(before=2**31 - 1, after=2**31 - 1)
    given = [attention.from_heads(one.numpy(), layout) for one in (q, k, v, grad)]
    found, top, total = attention.forward(call, *given[:3])
    _same(attention.to_heads(found, 4, layout), out)
    assert top.shape == total.shape == (2, 4, 6, 1)
    for one, wanted in zip(attention.backward(call, *given), expected):
        _same(attention.to_heads(one, wanted.shape[1], layout), wanted)


def test_packed_sequences_do_not_see_each_other() -> None:
    q, k, v = (_random(9, 2, 8) for _ in range(3))
    call = attention.Call(2, "TND", 0.5, query_ends=(4, 9), key_ends=(4, 9))
    found = attention.forward(call, q.numpy(), k.numpy(), v.numpy())[0]
    for part in (slice(0, 4), slice(4, 9)):
        heads = [one[part].transpose(0, 1) for one in (q, k, v)]
        _same(found[part], functional.scaled_dot_product_attention(*heads, scale=0.5).transpose(0, 1))


@pytest.mark.parametrize(
    ("how", "count", "mode"),
    [(resize.linear, 1, "linear"), (resize.linear, 3, "trilinear"), (resize.cubic, 2, "bicubic")],
)
@pytest.mark.parametrize("corners", [False, True])
def test_resizing_and_its_gradient(how: Any, count: int, mode: str, corners: bool) -> None:
    x, sizes = _random(1, 2, *range(4, 4 + count)), tuple(range(6, 6 + count))
    out, grad, (to_x,) = _gradients(lambda x: functional.interpolate(x, sizes, mode=mode, align_corners=corners), x)
    scales = [0.0] * count
    _same(resize._resize(how, count, x.numpy(), sizes, corners, *scales), out)
    _same(resize._resize_backward(how, count, grad.numpy(), sizes, x.shape, corners, *scales), to_x)


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("axes", [2, 3])
def test_samples_and_their_gradients(axes: int, padding: str) -> None:
    x, grid = _random(2, 3, *[5] * axes), _random(2, *[4] * axes, axes) * 0.9
    for corners in (False, True):
        out, grad, (to_x, to_grid) = _gradients(
            lambda x, grid, corners=corners: functional.grid_sample(x, grid, "bilinear", padding, corners), x, grid
        )
        options = (0, ["zeros", "border", "reflection"].index(padding), int(corners))
        _same(sampling.sample(x.numpy(), grid.numpy(), *options), out)
        found = sampling.sample_backward(grad.numpy(), x.numpy(), grid.numpy(), *options, None)
        _same(found[0], to_x)
        _same(found[1], to_grid, 1e-3)


def test_convolution_of_volumes_both_ways() -> None:
    step, padding, gap = (1, 2, 1), (1, 0, 1), (1, 1, 2)
    x, weight, bias = _random(2, 4, 5, 6, 7), _random(6, 2, 2, 3, 2), _random(6)
    out, grad, expected = _gradients(lambda *a: functional.conv3d(*a, step, padding, gap, 2), x, weight, bias)
    given = [one.numpy() for one in (x, weight, bias)]
    _same(volume.convolution(*given, step, padding, gap, 0, (), 2), out, 1e-3)
    found = volume.convolution_backward(grad.numpy(), *given[:2], step, padding, gap, 0, 2, (1, 1, 1))
    for one, wanted in zip(found, expected):
        _same(one, wanted, 1e-3)
    turned = _random(4, 3, 2, 3, 2)
    more = (0, 1, 0)
    out, grad, expected = _gradients(
        lambda x, w: functional.conv_transpose3d(x, w, None, step, padding, more, 2, gap), x, turned
    )
    _same(volume.convolution(given[0], turned.numpy(), None, step, padding, gap, 1, more, 2), out, 1e-3)
    found = volume.convolution_backward(grad.numpy(), given[0], turned.numpy(), step, padding, gap, 1, 2, (1, 1, 0))
    _same(found[0], expected[0], 1e-3)
    _same(found[1], expected[1], 1e-3)


def test_pooling_of_volumes() -> None:
    x = _random(1, 2, 5, 6, 7)
    out, grad, (to_x,) = _gradients(lambda x: functional.avg_pool3d(x, 3, 2, 1, False, False), x)
    _same(pooling.average(x.numpy(), (3,), (2,), (1,), 0, 0, 0), out)
    _same(pooling.average_backward(grad.numpy(), x.numpy(), (3,), (2,), (1,), 0, 0, 0), to_x)
    out, grad, (to_x,) = _gradients(lambda x: functional.adaptive_max_pool3d(x, (2, 3, 4)), x)
    found, places = pooling.adaptive_max(x.numpy(), (2, 3, 4))
    _same(found, out)
    _same(pooling.adaptive_max_backward(grad.numpy(), x.numpy(), places), to_x)


def test_lstm_and_gru_with_their_gradients() -> None:
    x, h0, c0 = _random(5, 2, 3), _random(1, 2, 4), _random(1, 2, 4) * 0.5
    lstm = torch.nn.LSTM(3, 4)
    weight = torch.cat([lstm.weight_ih_l0, lstm.weight_hh_l0], 1).detach().T.numpy()
    bias = (lstm.bias_ih_l0 + lstm.bias_hh_l0).detach().numpy()  # i, f, j, o
    order = {"gate_order": "ifco", "forget_bias": 0.0}
    inputs = [x.numpy(), weight, bias, None, h0.numpy(), c0.numpy()]
    found = recurrent.lstm(inputs, order, None)
    out, grad, (to_x, to_h, to_c) = _gradients(lambda x, h, c: lstm(x, (h, c))[0], x, h0, c0)
    _same(found[0], out)
    zero = np.zeros((1, 2, 4), np.float32)
    back = recurrent.lstm_backward(
        [*inputs[:3], found[0], h0.numpy(), c0.numpy(), found[1], found[2], grad.numpy(), zero, zero, *found[3:]],
        order, None,
    )  # fmt: skip
    for one, wanted in zip(back[2:], (to_x, to_h[0], to_c[0])):
        _same(one, wanted)
    gru = torch.nn.GRU(3, 4)
    given = [x.numpy(), *(one.detach().T.numpy() for one in (gru.weight_ih_l0, gru.weight_hh_l0)),
             gru.bias_ih_l0.detach().numpy(), gru.bias_hh_l0.detach().numpy(), None, h0.numpy()]  # fmt: skip
    found = recurrent.gru(given, {"gate_order": "rzh"}, None)
    out, grad, (to_x, to_h) = _gradients(lambda x, h: gru(x, h)[0], x, h0)
    _same(found[0], out)
    back = recurrent.gru_backward(
        [*given[:3], found[0], h0.numpy(), found[1], grad.numpy(), zero, *found[2:]], {"gate_order": "rzh"}, None
    )
    _same(back[4], to_x)
    _same(back[5], to_h[0])


def test_ctc_loss_and_its_gradient() -> None:
    scores, targets = _random(8, 2, 5), torch.tensor([[1, 2, 2], [3, 1, 0]])
    steps, lengths = torch.tensor([8, 7]), torch.tensor([3, 2])

    def formula(scores: Tensor) -> Tensor:
        return functional.ctc_loss(scores.log_softmax(-1), targets, steps, lengths, reduction="none")

    out, grad, (expected,) = _gradients(formula, scores)
    logs = scores.log_softmax(-1).double().numpy()
    table = type("Place", (), {"shape": (2, 8, 7)})
    inputs = [logs, *(one.numpy() for one in (targets, steps, lengths))]
    _same(ctc.loss(inputs, {}, [None, table])[0], out)
    _same(ctc.loss_backward([grad.numpy(), *inputs], {}, None), expected)


def test_experts_get_their_tokens_and_give_them_back() -> None:
    tokens, choices = _random(6, 4).numpy(), np.array([[0, 2], [1, 0], [2, 1], [0, 1], [2, 0], [1, 2]])
    rows, places = experts.permute(tokens, choices, 0, 0)
    counts = np.bincount(choices.reshape(-1), minlength=3)
    weights = _random(3, 4, 5).numpy()
    ends = np.cumsum(counts)
    found = grouped.grouped_matmul([rows], [weights], None, None, None, None, None, ends, 3, 0, outputs=[None])
    gates = np.abs(_random(6, 2).numpy())
    out = experts.unpermute(found, places, gates, 0, ())
    expected = [sum(gates[t, c] * tokens[t] @ weights[choices[t, c]] for c in range(2)) for t in range(6)]
    np.testing.assert_allclose(out, np.stack(expected), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("inside", [False, True])
def test_attention_with_a_position_bias_has_a_gradient(inside: bool) -> None:
    q, k, v, bias = _random(2, 4, 6, 8), _random(2, 2, 6, 8), _random(2, 2, 6, 8), _random(1, 4, 6, 6)

    def formula(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        k, v = (one.repeat_interleave(2, 1) for one in (k, v))
        added = bias * 0.3 if inside else bias
        return functional.scaled_dot_product_attention(q, k, v, added, scale=0.3)

    _, grad, expected = _gradients(formula, q, k, v)
    name = "aclnnFlashAttentionScoreGradV2"
    run = registry.find(name).function
    rest = [None, None, None, None, None, None, None, None, None, None, 0.3, 1.0, 2**31 - 1, 2**31 - 1, 4, "BNSD", 1, 0]
    found = run(*(one.numpy() for one in (q, k, v, grad, bias)), *rest, 1 if inside else 0)
    for one, other in zip(found, expected):
        _same(one, other)


def test_bands_of_matrices_are_packed_and_unpacked() -> None:
    x = _random(2, 4, 5).numpy()
    band = np.array([-1, 2])
    packed = older_matrix.diagonal_part_v3([x, band, np.zeros(())], {"align": "RIGHT_LEFT"}, None)
    assert packed.shape == (2, 4, 4)
    out = older_matrix.set_diagonal_v3([np.zeros_like(x), packed, band], {"align": "RIGHT_LEFT"}, None)
    np.testing.assert_array_equal(out, np.stack([np.triu(np.tril(one, 2), -1) for one in x]))


def test_calls_reach_python_and_come_back(card: Library, numpy_kernels: None) -> None:
    x = _random(3, 8).numpy().astype(np.float16)
    out = np.zeros((3, 4), np.float16)
    card.run("aclnnGlu", x, -1, out)
    _same(out, functional.glu(torch.from_numpy(x).float()), 2e-3)
    turned = np.zeros((4, 6), np.float32)[:, ::2]
    card.run("aclnnFrac", np.full((4, 3), 2.25, np.float32), turned)
    assert (turned == 0.25).all()
    matrices = _random(2, 3, 3).numpy()
    inverse = np.zeros_like(matrices)
    assert card.by_type("MatrixInverse", [matrices], [inverse], adjoint=False) == 0, card.error()
    np.testing.assert_allclose(inverse @ matrices, np.broadcast_to(np.eye(3), (2, 3, 3)), atol=1e-4)
    diagonal = np.zeros((3, 2), np.float32)
    assert card.by_type("CustDiagonal", [matrices], [diagonal], offset=0, dim1=0, dim2=1) == 0, card.error()
    assert card.call("aclnnGlu", np.zeros((3, 5), np.float32), -1, np.zeros((3, 2), np.float32)) == 100000
    assert "jumar: `aclnnGlu`: ValueError: array split does not result in an equal division" in card.error()


def test_products_use_the_blas_of_the_process(card: Library, numpy_kernels: None) -> None:
    left, right = _random(64, 96).numpy(), _random(96, 32).numpy()
    found = card.run("aclnnMm", left, right, np.zeros((64, 32), np.float32), 0)
    np.testing.assert_allclose(found, left @ right, rtol=1e-4, atol=1e-4)


def test_without_python_they_are_refused_by_name(card: Library) -> None:
    assert card.call("aclnnGlu", np.zeros((3, 4), np.float32), -1, np.zeros((3, 2), np.float32)) == 561112
    assert "jumar: `aclnnGluGetWorkspaceSize` is not emulated (state: refused)" in card.error()
