"""Mixture of experts: routing of tokens, sorting them by expert and back."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import special

from ..formulas.activation import GATES, INSIDE, inside
from ..formulas.quantize import to_steps
from .quantized import quantize_rows
from .registry import NotEmulated, operator


@operator("aclnnMoeComputeExpertTokens")
def expert_ends(experts: Any, count: int) -> Any:
    return np.searchsorted(experts, np.arange(count), "right")


@operator("aclnnMoeGatingTopKSoftmax")
def gate(x: Any, finished: Any, k: int) -> Any:
    weights = special.softmax(x, -1)
    order = np.argsort(-weights, -1, kind="stable")[..., :k]
    experts = order if finished is None else np.where(finished[..., None], x.shape[-1], order)
    rows = int(np.prod(x.shape[:-1]))
    places = np.arange(rows * k).reshape(k, rows).T.reshape(experts.shape)
    return np.take_along_axis(weights, order, -1), experts, places


@operator("TopPRouter")
def places_by_weight(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """As TopKRouter, for the choices whose weights, added up for a token in their order, stay below a threshold."""
    chosen, weights = inputs[0], inputs[5].astype(np.float32)
    capacity, experts, later = (int(np.reshape(one, -1)[0]) for one in inputs[1:4])
    below = np.cumsum(weights, -1, dtype=np.float32) < np.float32(np.reshape(inputs[4], -1)[0])
    return _places(chosen, below.reshape(chosen.shape), capacity, experts, bool(later))


@operator("TopKRouter")
def places_of_tokens(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """The tokens of each expert, from 1, and the place of each token in the rows of all experts, which begin with an
    empty one; an expert that is full drops the last tokens or, with the fourth input, those of later choices."""
    chosen, (capacity, experts) = inputs[0], (int(np.reshape(one, -1)[0]) for one in inputs[1:3])
    later = inputs.get(3) is not None and bool(np.reshape(inputs[3], -1)[0])
    return _places(chosen, np.ones(chosen.shape, bool), capacity, experts, later)


def _places(chosen: Any, allowed: Any, capacity: int, experts: int, later: bool) -> Any:
    """Of the choices that are allowed; the others are dropped from the start."""
    batch, length, k = chosen.shape
    flat, takes = (
        one.swapaxes(1, 2).reshape(batch, -1) if later else one.reshape(batch, -1) for one in (chosen, allowed)
    )
    tokens = np.tile(np.arange(length), k) if later else np.repeat(np.arange(length), k)
    sent = np.zeros((batch, experts, capacity), chosen.dtype)
    back = flat * (capacity + 1)
    for group in range(batch):
        order = np.argsort(flat[group], kind="stable")
        order = order[takes[group][order]]
        by_expert = flat[group][order]
        place = np.arange(order.size) - np.searchsorted(by_expert, by_expert)
        kept = place < capacity
        sent[group, by_expert[kept], place[kept]] = tokens[order[kept]] + 1
        back[group, order[kept]] += place[kept] + 1
    return sent, (back.reshape(batch, k, length).swapaxes(1, 2) if later else back.reshape(chosen.shape))


@operator("aclnnMoeInitRouting")
def route(x: Any, rows: Any, experts: Any, active: int) -> Any:
    order = np.argsort(experts.reshape(-1), kind="stable")
    sources = rows.reshape(-1)[order]
    places = np.empty(sources.size, np.int64)
    places[sources] = np.arange(sources.size)
    count = min(active, x.shape[0]) * experts.shape[-1]
    return x[sources[:count] % x.shape[0]], places, experts.reshape(-1)[order]


class _Routes(NamedTuple):
    """Which choice each row of the result takes, -1 for an empty one; where each choice went, -1 for a dropped one."""

    rows: Any
    places: Any
    many: Any  # how many tokens each expert has


def _routes(experts: Any, active: int, capacity: int, count: int, padded: int) -> _Routes:
    """The tokens of each expert one behind the other, or in rooms of the same size: those beyond it are dropped."""
    flat = experts.reshape(-1)
    order = np.argsort(flat, kind="stable")
    many = np.bincount(flat, minlength=count)
    if not padded:
        places = np.empty(flat.size, np.int64)
        places[order] = np.arange(flat.size)
        return _Routes(order[: active or flat.size], places, many)
    turn = np.arange(flat.size) - np.repeat(np.cumsum(many) - many, many)  # which of its expert's tokens it is
    kept, chosen = order[turn < capacity], flat[order]
    places = np.full(flat.size, -1, np.int64)
    places[kept] = (chosen * capacity + turn)[turn < capacity]
    rows = np.full(count * capacity, -1, np.int64)
    rows[places[kept]] = kept
    return _Routes(rows, places, many)


def _tokens(routes: _Routes, count: int, padded: int, counted: int, before: int) -> tuple[Any, Any]:
    """How many tokens each expert has, or their running sums; and the same before some were dropped."""
    if padded:
        return None, routes.many if before else None
    many = routes.many if count and counted else None
    return (np.cumsum(many) if counted == 1 and many is not None else many), None


@operator("aclnnMoeInitRoutingV2")
def route_v2(
    x: Any, experts: Any, active: int, capacity: int, count: int, padded: int, counted: int, before: int
) -> Any:
    routes = _routes(experts, active, capacity, count, padded)
    out = np.where(routes.rows[:, None] < 0, 0, x[routes.rows // experts.shape[-1]])
    return (out, routes.places, *_tokens(routes, count, padded, counted, before))


@operator("aclnnMoeInitRoutingQuantV2")
def route_quantized(
    x: Any, experts: Any, scale: Any, offset: Any, active: int, capacity: int, count: int, padded: int, counted: int,
    before: int, dynamic: int,
) -> Any:  # fmt: skip
    """Rows of int8: by a scale and an offset, or so that the largest of each row, smoothed by its expert, is 127."""
    routes = _routes(experts, active, capacity, count, padded)
    empty = routes.rows[:, None] < 0
    wide = x[routes.rows // experts.shape[-1]]
    more = _tokens(routes, count, padded, counted, before)
    if not dynamic:
        return (np.where(empty, 0, to_steps(wide * scale + offset)), routes.places, *more, None)
    if scale is not None and scale.size:
        wide = wide * (scale if len(scale) == 1 else scale[experts.reshape(-1)[routes.rows]])
    found, factors = quantize_rows(np.where(empty, 0, wide), None)
    return (found, routes.places, *more, factors)


@operator("aclnnMoeFinalizeRouting", stepwise=True)
def combine(rows: Any, skip: Any, other: Any, bias: Any, scales: Any, places: Any, experts: Any) -> Any:
    """The order of the sums is the device's: what is skipped first, then an expert after the other."""
    count, choices = scales.shape
    index = places.reshape(choices, -1)
    given = [one for one in (skip, other) if one is not None]
    out = sum(given[1:], given[0]) if given else np.zeros((count, rows.shape[1]), rows.dtype)
    for choice in range(choices):
        part = rows[index[choice]]
        part = part if bias is None else part + bias[experts[:, choice]]
        out = out + scales[:, choice, None] * part
    return out


def _gathered(rows: Any, places: Any) -> Any:
    """The row of each place; zero for choices that were dropped."""
    there = (places >= 0) & (places < rows.shape[0])
    return rows[np.clip(places, 0, max(rows.shape[0] - 1, 0))] * there[:, None]


def _unpadded(padded: int) -> None:
    if padded:
        raise NotEmulated("padded_mode is not emulated")


@operator("aclnnMoeTokenPermute")
def permute(tokens: Any, indices: Any, count: int, padded: int) -> Any:
    _unpadded(padded)
    order = np.argsort(indices.reshape(-1), kind="stable")
    choices = 1 if indices.ndim == 1 else indices.shape[1]
    kept = min(count, order.size) if count > 0 else max(0, order.size + count)
    return tokens[order[:kept] // choices], np.argsort(order, kind="stable")


@operator("aclnnMoeTokenPermuteGrad")
def permute_backward(grad: Any, places: Any, choices: int, padded: int) -> Any:
    _unpadded(padded)
    return _gathered(grad, places).reshape(-1, choices, grad.shape[1]).sum(1)


@operator("aclnnMoeTokenUnpermute")
def unpermute(rows: Any, places: Any, weights: Any, padded: int, shape: Any) -> Any:
    _unpadded(padded)
    choices = 1 if weights is None else weights.shape[1]
    parts = _gathered(rows, places).reshape(-1, choices, rows.shape[1])
    return (parts if weights is None else parts * weights[..., None]).sum(1)


@operator("aclnnMoeTokenUnpermuteGrad")
def unpermute_backward(rows: Any, grad: Any, places: Any, weights: Any, padded: int, shape: Any) -> Any:
    _unpadded(padded)
    choices = 1 if weights is None else weights.shape[1]
    spread = np.repeat(grad, choices, 0)
    to_rows = np.zeros_like(rows)
    there = (places >= 0) & (places < rows.shape[0])
    scaled = spread if weights is None else spread * weights.reshape(-1, 1)
    to_rows[places[there]] = scaled[there]
    to_weights = None if weights is None else (_gathered(rows, places) * spread).sum(-1).reshape(weights.shape)
    return to_rows, to_weights


@operator("aclnnFFN")
def feed_forward(x: Any, first: Any, second: Any, tokens: Any, bias: Any, end_bias: Any, *others: Any) -> Any:
    """Two layers for the tokens of each expert, which lie one behind the other."""
    *scales, activation, _ = others
    if any(one is not None and np.size(one) for one in scales):
        raise NotEmulated("quantised weights (aclnnFFN) is not emulated")
    name = str(activation).lower()
    if name not in INSIDE and name not in GATES:
        raise NotEmulated(f"the activation `{activation}` (aclnnFFN) is not emulated")
    if not tokens:
        return _layers(x, first, second, bias, end_bias, name)
    out = np.zeros((*x.shape[:-1], second.shape[-1]), np.float32)
    start = 0
    for expert, count in enumerate(tokens):
        rows = slice(start, start + count)
        own, end = (None if one is None else one[expert] for one in (bias, end_bias))
        out[rows] = _layers(x[rows], first[expert], second[expert], own, end, name)
        start += count
    return out


def _layers(x: Any, first: Any, second: Any, bias: Any, end_bias: Any, name: str) -> Any:
    middle = x @ first + (0 if bias is None else bias)
    middle = inside(middle, name)
    return middle @ second + (0 if end_bias is None else end_bias)
