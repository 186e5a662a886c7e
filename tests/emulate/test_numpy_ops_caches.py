"""Attention over caches of keys and values: pages, and numbers of eight bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from jumar.emulate.numpy_ops import registry

_LENGTHS = (5, 7)


def _attend(query: Any, key: Any, value: Any, table: Any = None, scale: Any = None, offset: Any = None) -> Any:
    """`aclnnIncreFlashAttentionV4` of two heads, layout BSH."""
    run, _ = registry.find("aclnnIncreFlashAttentionV4")
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
