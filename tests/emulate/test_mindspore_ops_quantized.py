"""Numbers of eight bits in grouped products, routing and attention, by the formulas of the vendor's documents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from stand_ins import Library

from jumar.emulate.mindspore_ops import registry

pytestmark = pytest.mark.usefixtures("numpy_kernels")
_COUNTS = np.array([3, 0, 4])
_RNG = np.random.default_rng


def _bytes(*shape: int, seed: int = 0) -> Any:
    return _RNG(seed).integers(-128, 128, shape).astype(np.int8)


def _packed(scale: Any) -> Any:
    """A float32 scale in the low half of 64 bits."""
    return scale.view(np.uint32).astype(np.int64)


def _grouped(card: Library, x: Any, weight: Any, out: Any, **given: Any) -> Any:
    lists = {name: [given[name]] if name in given else None for name in ("bias", "scale", "offset", "token_scale")}
    groups = given.get("groups", (_COUNTS, 1))
    arguments = [[x], [weight], lists["bias"], lists["scale"], lists["offset"], None, None, lists["token_scale"],
                 groups[0], None, None, None, 3, 0, groups[1], given.get("act", 0), [out], None, None]  # fmt: skip
    assert card.call("aclnnGroupedMatmulV4", *arguments) == 0, card.error()
    return out


def _exact(x: Any, weight: Any) -> Any:
    ends = np.cumsum(_COUNTS)
    parts = zip([0, *ends[:-1]], ends, weight)
    return np.concatenate([x[a:b].astype(np.int64) @ one.astype(np.int64) for a, b, one in parts])


def test_grouped_products_of_int8_with_scales_of_channels_and_tokens(card: Library) -> None:
    x, weight = _bytes(7, 20), _bytes(3, 20, 6, seed=1)
    owner = np.repeat(np.arange(3), _COUNTS)
    scale = _RNG(2).random((3, 6)).astype(np.float32) / 100
    token = _RNG(3).random(7).astype(np.float32)
    bias = _RNG(4).integers(-500, 500, (3, 6)).astype(np.int32)
    expected = _exact(x, weight)
    out = np.zeros((7, 6), np.float32)
    _grouped(card, x, weight, out, scale=scale, bias=bias)
    np.testing.assert_allclose(out, (expected + bias[owner]) * scale[owner], rtol=1e-5)
    _grouped(card, x, weight, out, scale=scale, token_scale=token)
    np.testing.assert_allclose(out, expected * scale[owner] * token[:, None], rtol=1e-5)
    _grouped(card, x, weight, out, scale=scale, token_scale=token, bias=bias.astype(np.float32), act=1)
    plain = expected * scale[owner] * token[:, None] + bias[owner]
    np.testing.assert_allclose(out, np.maximum(plain, 0), rtol=1e-4)
    whole = np.zeros((7, 6), np.int32)
    np.testing.assert_array_equal(_grouped(card, x, weight, whole, bias=bias), expected + bias[owner])


def test_grouped_products_of_int8_that_stay_int8(card: Library) -> None:
    x, weight = _bytes(7, 20), _bytes(3, 20, 6, seed=1)
    scale = np.full((3, 6), 2.0**-11, np.float32)  # the unit keeps ten bits of it
    out = _grouped(card, x, weight, np.zeros((7, 6), np.int8), scale=_packed(scale))
    np.testing.assert_array_equal(out, np.clip(np.rint(_exact(x, weight) * 2.0**-11), -128, 127))


def test_grouped_products_with_scales_of_parts_of_the_inner_axis(card: Library) -> None:
    x, weight = _bytes(7, 20), _bytes(3, 20, 6, seed=1)
    scale = _RNG(2).random((3, 4, 6)).astype(np.float32) / 100
    token = _RNG(3).random(7).astype(np.float32)
    owner = np.repeat(np.arange(3), _COUNTS)
    spread = np.repeat(scale, 5, 1) * weight
    expected = np.stack([row @ spread[at] for row, at in zip(x.astype(np.float64), owner)]) * token[:, None]
    out = _grouped(card, x, weight, np.zeros((7, 6), np.float32), scale=scale, token_scale=token)
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-3)


def test_groups_may_be_named(card: Library) -> None:
    x, weight = _bytes(7, 20), _bytes(3, 20, 6, seed=1)
    pairs = np.array([[2, 4], [0, 3]])
    out = _grouped(card, x, weight, np.zeros((7, 6), np.int32), groups=(pairs, 2))
    np.testing.assert_array_equal(out[:4], x[:4].astype(np.int32) @ weight[2].astype(np.int32))
    np.testing.assert_array_equal(out[4:], x[4:].astype(np.int32) @ weight[0].astype(np.int32))


def test_weights_with_scales_of_parts_of_the_inner_axis() -> None:
    run = registry.find("aclnnGroupedMatmulV3").function
    x, weight = _RNG(0).random((7, 8)).astype(np.float16), _bytes(3, 8, 6)
    scale, shift = (_RNG(seed).random((3, 2, 6)).astype(np.float16) for seed in (1, 2))
    out = run([x], [weight], None, None, None, [scale], [shift], np.cumsum(_COUNTS), 3, 0, outputs=[None])
    owner = np.repeat(np.arange(3), _COUNTS)
    plain = (weight + np.repeat(shift, 4, 1).astype(np.float64)) * np.repeat(scale, 4, 1)
    expected = np.stack([row @ plain[at] for row, at in zip(x.astype(np.float64), owner)])
    np.testing.assert_allclose(out, expected, rtol=2e-2, atol=2e-1)


def _routed(card: Library, x: Any, experts: Any, scale: Any, offset: Any, rows: tuple[int, ...], *numbers: int) -> Any:
    active, capacity, padded, counted, before, dynamic = numbers
    outs = [np.full((*rows, x.shape[1]), 99, np.int8), np.zeros(experts.size, np.int32), np.zeros(3, np.int32),
            np.zeros(3, np.int32), np.full(int(np.prod(rows)), -1, np.float32)]  # fmt: skip
    given = [x, experts, scale, offset, active, capacity, 3, padded, counted, bool(before), dynamic]
    assert card.call("aclnnMoeInitRoutingQuantV2", *given, *outs) == 0, card.error()
    return outs


def test_tokens_are_sorted_by_expert_and_rounded(card: Library) -> None:
    x = _RNG(0).normal(size=(4, 5)).astype(np.float32)
    experts = np.array([[2, 0], [1, 2], [0, 1], [2, 1]], np.int32)
    order = np.argsort(experts.reshape(-1), kind="stable")
    scale, offset = np.array([20], np.float32), np.array([3], np.float32)
    rows, places, tokens, _, _ = _routed(card, x, experts, scale, offset, (8,), 0, 0, 0, 1, 0, 0)
    np.testing.assert_array_equal(rows, np.rint(x[order // 2] * 20 + 3))
    np.testing.assert_array_equal(places[order], np.arange(8))
    assert tokens.tolist() == [2, 5, 8]
    smooth = _RNG(1).random((3, 5)).astype(np.float32)
    rows, _, tokens, _, factors = _routed(card, x, experts, smooth, None, (6,), 6, 0, 0, 2, 0, 1)
    wide = (x[order // 2] * smooth[experts.reshape(-1)[order]])[:6]
    np.testing.assert_allclose(factors, np.abs(wide).max(-1) / 127, rtol=1e-6)
    np.testing.assert_allclose(rows, wide / factors[:, None], atol=0.51)
    assert tokens.tolist() == [2, 3, 3]


def test_tokens_beyond_the_capacity_are_dropped_and_empty_rows_stay_zero(card: Library) -> None:
    x = _RNG(0).normal(size=(4, 5)).astype(np.float32)
    experts = np.array([[2, 2], [2, 0], [2, 2], [0, 2]], np.int32)
    scale, offset = np.array([20], np.float32), np.array([3], np.float32)
    rows, places, _, before, _ = _routed(card, x, experts, scale, offset, (3, 2), 0, 2, 1, 0, 1, 0)
    assert before.tolist() == [2, 0, 6]
    np.testing.assert_array_equal(rows[0], np.rint(x[[1, 3]] * 20 + 3))
    assert not rows[1].any()
    np.testing.assert_array_equal(rows[2], np.rint(x[[0, 0]] * 20 + 3))
    assert places.tolist() == [4, 5, -1, 0, -1, -1, 1, -1]


def _infer(query: Any, key: Any, value: Any, layout: str = "BNSD", **given: Any) -> Any:
    """`aclnnFusedInferAttentionScoreV2` of four heads."""
    names = ("scale1", "scale2", "scale3", "scale4", "offset4", "scale5", "offset5")
    apart = ("scale6", "offset6", "scale7", "offset7")
    run = registry.find("aclnnFusedInferAttentionScoreV2").function
    scales, others, mode = (
        [given.get(name) for name in names],
        [given.get(name) for name in apart],
        given.get("mode", 0),
    )
    numbers = [4, 0.25, 2**31 - 1, 2**31 - 1, layout, 2, 0, 1, 0, mode, True, mode, mode]
    tensors = [query, [key], [value], None, None, None, None, *scales, None, None, None, *others, None, None, None]
    return run(*tensors, *numbers)


def _formula(query: Any, key: Any, value: Any) -> tuple[Any, Any]:
    key, value = (np.repeat(one.astype(np.float64), 2, 1) for one in (key, value))
    scores = query.astype(np.float64) @ key.swapaxes(-1, -2) * 0.25
    weights = np.exp(scores)
    return weights @ value / weights.sum(-1, keepdims=True), np.log(weights.sum(-1, keepdims=True))


def _heads(rows: int, heads: int, seed: int) -> Any:
    return _RNG(seed).normal(size=(2, heads, rows, 8)).astype(np.float32)


def test_inference_has_its_sums_and_a_layout_of_the_result() -> None:
    q, k, v = _heads(3, 4, 0), _heads(5, 2, 1), _heads(5, 2, 2)
    expected, sums = _formula(q, k, v)
    out, found = _infer(q, k, v)
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found, sums, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(_infer(q, k, v, "BNSD_BSND")[0], expected.swapaxes(1, 2), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("layout", ["BNSD", "BSND", "BSH"])
@pytest.mark.parametrize("channels", [False, True])
def test_results_are_rounded_to_int8(layout: str, channels: bool) -> None:
    q, k, v = _heads(3, 4, 0), _heads(5, 2, 1), _heads(5, 2, 2)
    scale = _RNG(3).random((4, 8) if channels else 1).astype(np.float32) * 50
    offset = scale / 10
    plain = _formula(q, k, v)[0].swapaxes(1, 2)
    expected = np.clip(np.rint(plain * scale + offset), -128, 127)
    given = [one if layout == "BNSD" else one.swapaxes(1, 2) for one in (q, k, v)]
    given = [one.reshape(2, one.shape[1], -1) if layout == "BSH" else one for one in given]
    out = _infer(*given, layout, scale4=scale, offset4=offset)[0]
    out = out.swapaxes(1, 2) if layout == "BNSD" else out.reshape(2, 3, 4, 8)
    assert np.abs(out - expected).max() <= 1  # a tie may go either way
    assert (out == expected).mean() > 0.98


def test_queries_keys_and_values_of_eight_bits() -> None:
    q, k, v = (_bytes(2, heads, rows, 8, seed=heads + rows) for heads, rows in ((4, 3), (2, 5), (2, 6)))
    v = v[:, :, :5]
    first, middle, last = (np.array([one], np.float32) for one in (2.0**-10, 127, 2.0**-9))
    out, _ = _infer(q, k, v, scale1=_packed(first), scale2=middle, scale3=_packed(last))
    expected, _ = _formula(q.astype(np.float64) * 2.0**-10, k, v)
    np.testing.assert_allclose(out, expected * 127 * 2.0**-9, atol=0.35)  # a step of the weights is 1 / 127
    with pytest.raises(registry.NotEmulated, match="without some of them"):
        _infer(q, k, v, scale1=_packed(first))


@pytest.mark.parametrize(("mode", "shape"), [(0, ()), (0, (2, 8)), (1, (2, 5)), (2, (2,)), (3, (2, 2, 5))])
@pytest.mark.parametrize("apart", [False, True])
def test_keys_and_values_of_eight_bits(mode: int, shape: tuple[int, ...], apart: bool) -> None:
    q, k, v = _heads(1, 4, 0), _bytes(2, 2, 5, 8, seed=1), _bytes(2, 2, 5, 8, seed=2)
    scale, offset = (_RNG(seed).random((2, *shape)).astype(np.float32) / 20 for seed in (3, 4))

    def over(x: Any) -> Any:
        every = slice(None)
        at = {0: (None, every, None), 1: (every, None, every, None), 2: (None, every, None, None), 3: (..., None)}
        return x[at[mode]] if shape else x

    wide = [(one + over(offset[at])) * over(scale[at]) for at, one in enumerate((k, v))]
    if apart:
        given = {"scale6": scale[0], "offset6": offset[0], "scale7": scale[1], "offset7": offset[1]}
    else:
        given = {"scale5": scale, "offset5": offset}
    out, _ = _infer(q, k, v, mode=mode, **given)
    np.testing.assert_allclose(out, _formula(q, *wide)[0], rtol=1e-3, atol=1e-4)
    with pytest.raises(registry.NotEmulated, match="scales"):
        _infer(q, k, v, mode=mode, scale5=np.ones((2, 3, 2), np.float32))


def test_without_a_mask_all_keys_are_seen() -> None:
    """As documented: `preTokens` and `nextTokens` are ignored then."""
    run = registry.find("aclnnPromptFlashAttentionV3").function
    q, k, v = _heads(5, 4, 0), _heads(5, 2, 1), _heads(5, 2, 2)
    out = run(q, k, v, *[None] * 9, 4, 0.25, 2, 0, "BNSD", 2, 0, 1)[0]
    np.testing.assert_allclose(out, _formula(q, k, v)[0], rtol=1e-4, atol=1e-5)
