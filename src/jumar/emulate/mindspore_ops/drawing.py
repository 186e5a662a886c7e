"""Random numbers: distributions, samples of classes, dropped channels."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from .memory import FLOAT16
from .registry import operator


def seeded(attributes: Any) -> Any:
    """Seeds of 0 mean none, as for a device."""
    seeds = [abs(int(attributes.get(name) or 0)) for name in ("seed", "seed2")]
    return np.random.default_rng(seeds if any(seeds) else None)


@operator("Poisson", "RandomPoisson")
def poisson(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """Inputs: the shape, which the output has, too, and the means."""
    return seeded(attributes).poisson(np.asarray(inputs[1], np.float64), outputs[0].shape)


@operator("Gamma", "RandomGamma")
def gamma(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """Inputs: the shape, alpha, and for one of them beta, which divides."""
    found = seeded(attributes).gamma(np.asarray(inputs[1], np.float64), 1.0, outputs[0].shape)
    return found if inputs.get(2) is None else found / inputs[2]


@operator("StandardLaplace")
def laplace(inputs: Any, attributes: Any, outputs: Any) -> Any:
    return seeded(attributes).laplace(size=outputs[0].shape)


@operator("RandomShuffle")
def shuffle(inputs: Any, attributes: Any, outputs: Any) -> Any:
    return seeded(attributes).permutation(inputs[0], 0) if np.ndim(inputs[0]) else inputs[0]


@operator("RandomChoiceWithMask")
def choose(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """Places of what is true, in any order; the rest of the room is marked as not filled."""
    places = np.argwhere(inputs[0])
    count = outputs[0].shape[0]
    chosen = seeded(attributes).permutation(places, 0)[:count]
    found = np.zeros(outputs[0].shape, np.int64)
    found[: len(chosen)] = chosen
    return found, np.arange(count) < len(chosen)


def _candidates(inputs: Any, attributes: Any, chance: Any) -> Any:
    """Sampled classes, and how often the true ones and those are expected among them."""
    size, most = int(attributes["num_sampled"]), int(attributes["range_max"])
    chances = chance(np.arange(most))
    draw = seeded(attributes)
    if not attributes.get("unique"):
        found = draw.choice(most, size, p=chances / chances.sum())
        return found, chance(inputs[0]) * size, chance(found) * size
    if size > most:
        raise ValueError(f"num_sampled {size} is larger than range_max {most}")
    kept: list[int] = []
    tries = 0
    while len(kept) < size:
        tries += 1
        one = int(draw.choice(most, p=chances / chances.sum()))
        kept += [] if one in kept else [one]
    found = np.array(kept)
    return (found, *(1 - (1 - chance(one)) ** tries for one in (inputs[0], found)))


@operator("LogUniformCandidateSampler")
def log_uniform(inputs: Any, attributes: Any, outputs: Any) -> Any:
    most = int(attributes["range_max"])
    return _candidates(inputs, attributes, lambda at: (np.log(at + 2.0) - np.log(at + 1.0)) / np.log(most + 1.0))


@operator("UniformCandidateSampler")
def uniform(inputs: Any, attributes: Any, outputs: Any) -> Any:
    most = int(attributes["range_max"])
    return _candidates(inputs, attributes, lambda at: np.full(np.shape(at), 1.0 / most))


@operator("Dropout2D", "Dropout3D")
def drop_channels(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """In float16 it divides by what is kept in float16."""
    x, keep = inputs[0], attributes.get("keep_prob", 0.5)
    divisor = float(np.float16(keep)) if outputs[0].type == FLOAT16 else keep
    kept = seeded(attributes).random(x.shape[:2]) < keep
    mask = np.broadcast_to(kept.reshape(*x.shape[:2], *[1] * (x.ndim - 2)), x.shape)
    return np.where(mask, x / divisor, 0) if keep else np.zeros_like(x), mask


@operator("Cauchy")
def cauchy(inputs: Any, attributes: Any, outputs: Any) -> Any:
    found = seeded(attributes).standard_cauchy(outputs[0].shape)
    return attributes.get("median", 0.0) + attributes.get("sigma", 1.0) * found


@operator("TruncatedNormal")
def truncated(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """Normal numbers; those further than two from 0 are drawn again."""
    draw = seeded(attributes)
    found = draw.normal(size=outputs[0].shape)
    far = np.abs(found) > _FURTHEST
    while far.any():
        found[far] = draw.normal(size=int(far.sum()))
        far = np.abs(found) > _FURTHEST
    return found


_FURTHEST = 2


@operator("LogNormalReverse")
def log_normal(inputs: Any, attributes: Any, outputs: Any) -> Any:
    return seeded(attributes).lognormal(attributes.get("mean", 1.0), attributes.get("std", 2.0), outputs[0].shape)


@operator("NonDeterministicInts")
def integers(outputs: Any) -> Any:
    limits = np.iinfo(outputs[0].dtype)
    return np.random.default_rng().integers(limits.min, limits.max, outputs[0].shape, outputs[0].dtype, endpoint=True)


@operator("Randperm")
def permutation(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """The first numbers in any order; the rest of the room is filled."""
    count = int(np.reshape(inputs[0], -1)[0])
    out = np.full(outputs[0].shape, int(attributes.get("pad", -1)), np.int64)
    out[:count] = seeded(attributes).permutation(count)
    return out


@operator("ParameterizedTruncatedNormal")
def truncated_between(inputs: Any, attributes: Any, outputs: Any) -> Any:
    """Inputs: the shape, whose first number counts the batches; means, deviations, and limits of each of them."""
    draw, out = seeded(attributes), np.empty(outputs[0].shape, np.float64)
    mean, deviation, low, high = (np.broadcast_to(np.reshape(one, -1), len(out)) for one in inputs[1:5])
    for batch, rows in enumerate(out):
        start, end = (float(stats.norm.cdf((one[batch] - mean[batch]) / deviation[batch])) for one in (low, high))
        shares = start + (end - start) * draw.random(rows.shape)
        rows[...] = np.clip(mean[batch] + deviation[batch] * stats.norm.ppf(shares), low[batch], high[batch])
    return out
