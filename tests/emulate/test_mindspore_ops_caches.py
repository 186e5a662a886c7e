"""Attention over caches of keys and values: pages, and numbers of eight bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from jumar.emulate.mindspore_ops import attention, registry

_LENGTHS = (5, 7)


def _attend(query: Any, key: Any, value: Any, table: Any = None, scale: Any = None, offset: Any = None) -> Any:
    """`aclnnIncreFlashAttentionV4` of two heads, layout BSH."""
    run = registry.find("aclnnIncreFlashAttentionV4").function
    return run(query, [key], [value], None, None, _LENGTHS, None, None, None, None, None, scale, offset, table, None,
               2, 0.5, "BSH", 2, 4, 1)[0]  # fmt: skip


def _data() -> Any:
    rng = np.random.default_rng(11)
    return [rng.normal(size=shape).astype(np.float32) for shape in ((2, 1, 6), (2, 8, 6), (2, 8, 6))]


@pytest.mark.parametrize("by_heads", [False, True])
def test_pages_are_read_in_the_order_of_their_table(by_heads: bool) -> None:
    query, key, value = _data()
    table = np.array([[3, 0], [1, 4]])
    caches = []
    for whole in (key, value):
        pages = np.full((5, 4, 6), np.nan, np.float32)
        for batch, row in enumerate(table):
            pages[row] = whole[batch].reshape(2, 4, 6)
        caches.append(pages.reshape(5, 4, 2, 3).swapaxes(1, 2) if by_heads else pages)
    np.testing.assert_allclose(_attend(query, *caches, table), _attend(query, key, value), rtol=1e-5)


def test_pages_that_are_not_used_are_left_out() -> None:
    query, key, value = _data()
    pages = [np.concatenate([whole[0].reshape(2, 4, 6), whole[1].reshape(2, 4, 6)]) for whole in (key, value)]
    table = np.array([[0, 1, -1], [2, 3, -1]])
    np.testing.assert_allclose(_attend(query, *pages, table), _attend(query, key, value), rtol=1e-5)


def test_caches_of_eight_bits_are_widened() -> None:
    query = _data()[0]
    rng = np.random.default_rng(12)
    key, value = (rng.integers(-9, 9, (2, 8, 6)).astype(np.int8) for _ in range(2))
    scale, offset = rng.random((2, 6)).astype(np.float32), rng.random((2, 6)).astype(np.float32)
    wide = [(one + offset[at]) * scale[at] for at, one in enumerate((key, value))]
    np.testing.assert_allclose(_attend(query, key, value, None, scale, offset), _attend(query, *wide), rtol=1e-4)
    with pytest.raises(registry.NotEmulated, match="scales"):
        _attend(query, key, value, None, scale[:, :3], offset)


def test_tokens_go_to_their_places_in_the_caches() -> None:
    run = registry.find("aclnnReshapeAndCache").function
    cache = np.zeros((2, 3, 2, 2), np.float32)
    tokens = np.arange(1, 13, dtype=np.float32).reshape(3, 4)
    keys, values, _ = run(tokens, tokens + 20, cache, cache, np.array([4, -1, 0], np.int32))
    expected = np.zeros((6, 4), np.float32)
    expected[4], expected[0] = tokens[0], tokens[2]
    np.testing.assert_array_equal(keys.reshape(6, 4), expected)
    np.testing.assert_array_equal(values.reshape(6, 4), np.where(expected != 0, expected + 20, 0))
    assert run(tokens, None, cache, None, np.array([1, 2, 3]))[1] is None
    with pytest.raises(registry.NotEmulated, match="place 6 in a cache of 6"):
        run(tokens, tokens, cache, cache, np.array([0, 1, 6]))


def _plain(query: Any, key: Any, value: Any, added: Any = 0) -> Any:
    """Of one sequence: (heads, rows, size)."""
    scores = query @ key.swapaxes(-1, -2) * 0.5 + added
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True) @ value).swapaxes(0, 1)


@pytest.mark.parametrize("mask_mode", [0, 1])
def test_sequences_look_at_their_own_pages(mask_mode: int) -> None:
    """Two sequences of 2 and 3 new tokens, four heads of which two share keys, a position bias."""
    run = registry.find("aclnnPagedAttention").function
    rng = np.random.default_rng(13)
    query = rng.normal(size=(5, 4, 3)).astype(np.float32)
    keys, values = (rng.normal(size=(4, 4, 2, 3)).astype(np.float32) for _ in range(2))
    table, lengths, bias = np.array([[2, 0], [1, 3]]), (5, 7), rng.normal(size=(4, 5, 8)).astype(np.float32)
    found = run(query.reshape(5, 12), keys, values, table, np.array(lengths), None, None, None, np.array([2, 3]), bias,
                4, 0.5, 2, 0, mask_mode, 0)  # fmt: skip
    for number, rows in enumerate((slice(0, 2), slice(2, 5))):
        length, count = lengths[number], rows.stop - rows.start
        k, v = (np.repeat(x[table[number]].reshape(8, 2, 3)[:length].swapaxes(0, 1), 2, 0) for x in (keys, values))
        later = np.triu(np.full((count, length), -np.inf if mask_mode else 0.0), length - count + 1)
        expected = _plain(query[rows].swapaxes(0, 1), k, v, bias[:, rows, :length] + later)
        np.testing.assert_allclose(found[rows], expected, rtol=1e-5, atol=1e-6)


def test_one_cache_may_hold_keys_and_values_of_eight_bits() -> None:
    run = registry.find("aclnnPagedAttention").function
    rng = np.random.default_rng(14)
    query, cache = rng.normal(size=(2, 1, 4)).astype(np.float32), rng.integers(-9, 9, (2, 4, 1, 4)).astype(np.int8)
    scale, offset = rng.random((2, 4)).astype(np.float32), rng.random((2, 4)).astype(np.float32)
    table, lengths = np.array([[0], [1]]), np.array([3, 4])
    wide = (cache + offset[0]) * scale[0]
    given = [table, lengths], [None, None, None, 1, 0.5, 1]
    for width in (0, 2):
        values = None if width else cache
        found = run(query, cache, values, *given[0], scale, offset, *given[1], 0, 0, width)
        for number, length in enumerate(lengths):
            rows = wide[number, :length].swapaxes(0, 1)
            other = rows[..., :width] if width else ((cache + offset[1]) * scale[1])[number, :length].swapaxes(0, 1)
            np.testing.assert_allclose(found[number], _plain(query[number][None], rows, other)[0], rtol=1e-4)
    with pytest.raises(registry.NotEmulated, match="for each token"):
        run(query, cache, cache, *given[0], scale, offset, *given[1], 1, 0, 0)


@pytest.mark.parametrize("form", range(4))
def test_rotary_embedding_takes_tables_or_a_row_for_each_token(form: int) -> None:
    run = registry.find("aclnnApplyRotaryPosEmb").function
    rng = np.random.default_rng(15)
    query, key = rng.normal(size=(2, 3, 8)).astype(np.float32), rng.normal(size=(2, 3, 4)).astype(np.float32)
    angles = rng.normal(size=(9, 2)).astype(np.float32)
    places = np.array([4, 0, 7])
    angles = np.repeat(angles, 2, -1) if form % 2 else np.tile(angles, 2)
    cos, sin = np.cos(angles), np.sin(angles)
    given = (cos, sin) if form < 2 else (np.tile(cos[places], (2, 1)), np.tile(sin[places], (2, 1)))
    found = run(query, key, *given, places, form)
    for x, result in zip((query, key), found):
        pairs = x.reshape(2, 3, -1, 2, 2) if form % 2 else x.reshape(2, 3, -1, 2, 2).swapaxes(-1, -2)
        turn = np.exp(1j * (angles[places][:, ::2] if form % 2 else angles[places][:, :2]))[None, :, None]
        turned = (pairs[..., 0] + 1j * pairs[..., 1]) * turn
        expected = np.stack([turned.real, turned.imag], -1 if form % 2 else -2).reshape(x.shape)
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-6)
    with pytest.raises(registry.NotEmulated, match="2 angles for 6 tokens"):
        run(query, key, cos[:2], sin[:2], places, form)


def test_rotary_embedding_counts_each_sequence_from_its_begin() -> None:
    run = registry.find("aclnnApplyRotaryPosEmb").function
    rng = np.random.default_rng(17)
    tokens, cos, sin = (rng.normal(size=shape).astype(np.float32) for shape in ((5, 8), (9, 4), (9, 4)))
    packed = run(tokens, tokens, cos, sin, np.array([2, 3]), 2)[0]
    parts = [tokens[:2], tokens[2:]]
    alone = [run(x, x, cos[: len(x)], sin[: len(x)], np.array([len(x)]), 2)[0] for x in parts]
    np.testing.assert_allclose(packed, np.concatenate(alone), rtol=1e-6)
    whole = tokens[None, :3].repeat(2, 0)
    by_place, by_length = (run(whole, whole, cos[:6], sin[:6], np.array(given), 0)[0] for given in ([0, 1, 2], [3, 2]))
    np.testing.assert_array_equal(by_place, by_length)
    padded = run(tokens[None, :4].repeat(2, 0), tokens[None, :4].repeat(2, 0), cos, sin, np.array([1, 3]), 2)[0]
    np.testing.assert_allclose(padded[1], run(tokens[:4], tokens[:4], cos[:4], sin[:4], np.array([4]), 2)[0], rtol=1e-6)


def test_rows_that_are_hidden_as_a_whole_take_the_mean() -> None:
    """Unless the caller asks for zero, or the mode says where such rows are."""
    rng = np.random.default_rng(16)
    query, key, value, grad = (rng.normal(size=(1, 1, 3, 4)).astype(np.float32) for _ in range(4))
    mask = np.tril(np.ones((3, 3), np.uint8))
    call = attention.Call(1, "BNSD", 0.5, mask)
    even, top, total = attention.forward(call, query, key, value)
    np.testing.assert_allclose(even[0, 0, 2], value[0, 0].mean(0), rtol=1e-5)
    assert top[0, 0, 2, 0] == np.finfo(np.float32).min and total[0, 0, 2, 0] == 3
    zero = attention.forward(call._replace(precise=2), query, key, value)[0]
    np.testing.assert_array_equal(zero[0, 0, 2], 0)
    np.testing.assert_allclose(zero[0, 0, :2], even[0, 0, :2], rtol=1e-6)
    to_value = attention.backward(call, query, key, value, grad)[2]
    other = attention.backward(call._replace(precise=2), query, key, value, grad)[2]
    np.testing.assert_allclose(to_value - other, np.broadcast_to(grad[:, :, 2:] / 3, other.shape), rtol=1e-4)
    longer = rng.normal(size=(1, 1, 5, 4)).astype(np.float32)  # two rows come before the first key
    np.testing.assert_array_equal(attention.forward(call._replace(mode=3), longer, key, value)[0][0, 0, :2], 0)
