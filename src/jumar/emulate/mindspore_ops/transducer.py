"""The loss of a transducer (RNN-T), and its gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from .registry import operator


def _forward(blanks: Any, labels: Any) -> Any:
    """The logarithm of the probability of all paths to each step and label; `labels` has one column less."""
    table = np.full(blanks.shape, -np.inf)
    table[0, 0] = 0
    for t, u in np.ndindex(*blanks.shape):
        if t:
            table[t, u] = np.logaddexp(table[t, u], table[t - 1, u] + blanks[t - 1, u])
        if u:
            table[t, u] = np.logaddexp(table[t, u], table[t, u - 1] + labels[t, u - 1])
    return table


def _slopes(logs: Any, words: Any, blank: int) -> tuple[float, Any]:
    """The loss of one sequence, and its gradient with respect to the logarithms (steps, labels + 1, classes)."""
    columns = np.arange(len(words))
    blanks, labels = logs[:, :, blank], logs[:, columns, words]
    forth = _forward(blanks, labels)
    # Backwards, a step stands for the place that it leads to: what follows it, seen from the end.
    back = np.full((blanks.shape[0] + 1, blanks.shape[1] + 1), -np.inf)
    back[-2, -2] = blanks[-1, -1]
    for t, u in reversed(list(np.ndindex(*blanks.shape))):
        if (t, u) != (blanks.shape[0] - 1, blanks.shape[1] - 1):
            ways = [back[t + 1, u] + blanks[t, u]]
            if u < len(words):
                ways.append(back[t, u + 1] + labels[t, u])
            back[t, u] = np.logaddexp.reduce(ways)
    total = back[0, 0]
    after = back[1:, :-1].copy()
    after[-1, -1] = 0
    grad = np.zeros(logs.shape)
    grad[:, :, blank] -= np.exp(forth + blanks + after - total)
    np.subtract.at(grad, (slice(None), columns, words), np.exp(forth[:, :-1] + labels + back[:-1, 1:-1] - total))
    return -float(total), grad


@operator("RNNTLoss")
def loss(scores: Any, words: Any, steps: Any, lengths: Any, *, blank_label: int = 0) -> Any:
    """Of scores before the softmax, and the gradient for them; what lies beyond a sequence does not count."""
    logs = special.log_softmax(scores, -1)
    losses, grads = np.zeros(len(scores)), np.zeros(scores.shape)
    for row, (count, length) in enumerate(zip(steps, lengths)):
        part = logs[row, :count, : length + 1].astype(np.float64)
        losses[row], slope = _slopes(part, words[row, :length], blank_label)
        grads[row, :count, : length + 1] = slope - np.exp(part) * slope.sum(-1, keepdims=True)
    return losses, grads
