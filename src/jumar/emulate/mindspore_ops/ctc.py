"""Connectionist temporal classification: its loss, the gradient, and greedy decoding."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from .registry import NotEmulated, Sized, operator

_NEVER = -np.inf


def _extended(labels: Any, blank: int) -> Any:
    out = np.full(2 * len(labels) + 1, blank, np.int64)
    out[1::2] = labels
    return out


def _skips(states: Any, blank: int) -> Any:
    """Where a path may leave out the blank before a label."""
    skips = np.zeros(len(states), bool)
    skips[2:] = (states[2:] != blank) & (states[2:] != states[:-2])
    return skips


def _moved(row: Any, by: int) -> Any:
    out = np.full(row.shape, _NEVER)
    if by < len(row):
        out[by:] = row[: len(row) - by]
    return out


def alphas(logs: Any, states: Any, blank: int, merged: bool = True) -> Any:
    """The logarithm of the probability of all paths up to each step and state.

    Without merging, a label lasts for one step: the same one twice is two labels.
    """
    table = np.full((len(logs), len(states)), _NEVER)
    if not len(logs):
        return table
    table[0, :2] = logs[0, states[:2]]
    skips = _skips(states, blank) if merged else (np.arange(len(states)) > 1) & (states != blank)
    for t in range(1, len(logs)):
        stays = table[t - 1] if merged else np.where(states == blank, table[t - 1], _NEVER)
        row = np.logaddexp(stays, _moved(table[t - 1], 1))
        row = np.where(skips, np.logaddexp(row, _moved(table[t - 1], 2)), row)
        table[t] = row + logs[t, states]
    return table


def _total(table: Any) -> float:
    return float(np.logaddexp.reduce(table[-1, -2:])) if len(table) else 0.0


def slopes(logs: Any, labels: Any, blank: int, merged: bool = True) -> tuple[float, Any]:
    """The loss of one sequence, and its gradient with respect to the logarithms."""
    states = _extended(labels, blank)
    forth = alphas(logs, states, blank, merged)
    back = alphas(logs[::-1], states[::-1], blank, merged)[::-1, ::-1]
    total = _total(forth)
    shares = np.exp(np.where(np.isfinite(forth + back), forth + back - logs[:, states] - total, _NEVER))
    grad = np.zeros(logs.shape)
    for state, label in enumerate(states):
        grad[:, label] -= shares[:, state]
    return -total, grad


def _labels(targets: Any, lengths: Any, batch: int, classes: int) -> Any:
    """Beyond the classes a card reads what lies there."""
    start = int(np.sum(lengths[:batch])) if targets.ndim == 1 else 0
    found = (targets if targets.ndim == 1 else targets[batch])[start : start + lengths[batch]]
    for label in found:
        if not 0 <= label < classes:
            raise NotEmulated(f"what a card reads for label {label} of {classes} is not emulated")
    return found


@operator("CTCLossV2")
def loss(inputs: Any, attributes: Any, outputs: Any) -> Any:
    logs, targets, steps, lengths = (np.asarray(one) for one in inputs[:4])
    blank = int(attributes.get("blank", 0))
    values = np.zeros(logs.shape[1])
    table = np.full(outputs[1].shape, _NEVER)
    for batch in range(logs.shape[1]):
        rows = alphas(
            logs[: steps[batch], batch], _extended(_labels(targets, lengths, batch, logs.shape[-1]), blank), blank
        )
        table[batch, : rows.shape[0], : rows.shape[1]] = rows
        values[batch] = -_total(rows)
    if attributes.get("zero_infinity"):
        values = np.where(np.isinf(values), 0, values)
    return values, table


@operator("CTCLossV2Grad")
def loss_backward(inputs: Any, attributes: Any, outputs: Any) -> Any:
    grad, logs, targets, steps, lengths = (np.asarray(one) for one in inputs[:5])
    out = np.zeros(logs.shape)
    for batch in range(logs.shape[1]):
        rows = logs[: steps[batch], batch]
        value, slope = slopes(rows, _labels(targets, lengths, batch, logs.shape[-1]), int(attributes.get("blank", 0)))
        if np.isinf(value) and attributes.get("zero_infinity"):
            continue
        # The device hands back the gradient of a softmax before the logarithms, as other frameworks do.
        out[: steps[batch], batch] = grad[batch] * (np.exp(rows) + slope)
    return out


@operator("CTCLoss")
def loss_of_scores(
    scores: Any,
    places: Any,
    values: Any,
    steps: Any,
    *,
    preprocess_collapse_repeated: bool = False,
    ignore_longer_outputs_than_inputs: bool = False,
    ctc_merge_repeated: bool = True,
) -> Any:
    """Scores before the softmax; labels as a sparse matrix; the last class is the blank."""
    blank = scores.shape[-1] - 1
    logs = special.log_softmax(scores, -1)
    losses, grads = np.zeros(scores.shape[1]), np.zeros(scores.shape)
    for batch in range(scores.shape[1]):
        labels = values[places[:, 0] == batch]
        if (labels == blank).any():
            raise NotEmulated(f"what a card makes of the label {blank}, which is the blank, is not emulated")
        if preprocess_collapse_repeated:
            labels = labels[np.insert(labels[1:] != labels[:-1], 0, True)] if len(labels) else labels
        rows = logs[: steps[batch], batch]
        if len(labels) > len(rows):
            if ignore_longer_outputs_than_inputs:
                losses[batch] = np.inf  # and no gradient, as MindSpore's CPU target says
                continue
            raise ValueError(f"{len(labels)} labels do not fit into {len(rows)} steps")
        losses[batch], slope = slopes(rows, labels, blank, ctc_merge_repeated)
        grads[: steps[batch], batch] = np.exp(rows) + slope
    return losses, grads


@operator("CTCGreedyDecoder")
def decode(scores: Any, lengths: Any, *, merge_repeated: bool = True) -> Any:
    """The best class of each step; repeated ones and the last class, which is blank, are left out."""
    blank = scores.shape[-1] - 1
    places, values, longest = [], [], 0
    for row in range(scores.shape[1]):
        best = np.argmax(scores[: int(lengths[row]), row], -1)
        kept = [int(v) for at, v in enumerate(best)
                if v != blank and not (merge_repeated and at and best[at - 1] == v)]  # fmt: skip
        places += [(row, at) for at in range(len(kept))]
        values += kept
        longest = max(longest, len(kept))
    total = [-scores[: int(lengths[row]), row].max(-1).sum() for row in range(scores.shape[1])]
    found = np.array(places, np.int64).reshape(-1, 2), np.array(values, np.int64)
    return Sized(found[0]), Sized(found[1]), np.array([scores.shape[1], longest]), np.array(total)[:, None]
