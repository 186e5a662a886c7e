"""Read-modify-write in memory: elements with one address take turns, in the order of the programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jumar.emulate.triton.memory import Memory

Step = Callable[[Any, Any], Any]


def update(memory: Memory, pointers: Any, values: Any, mask: Any, dtype: Any, step: Step) -> Any:
    """What stood in memory before each element's turn; `step` gives what stands there afterwards."""
    shape = np.broadcast_shapes(pointers.shape, values.shape, mask.shape)
    pointers, values = np.broadcast_to(pointers, shape), np.broadcast_to(values, shape)
    active = np.flatnonzero(np.broadcast_to(mask, shape))
    answer = np.zeros(shape, dtype)
    if active.size:
        answer.reshape(-1)[active] = _in_turn(
            memory, pointers.reshape(-1)[active], values.reshape(-1)[active], dtype, step
        )
    return answer


def _in_turn(memory: Memory, pointers: Any, values: Any, dtype: Any, step: Step) -> Any:
    order = np.argsort(pointers, kind="stable")
    sorted_pointers, sorted_values = pointers[order], values[order]
    starts = np.flatnonzero(np.append(True, sorted_pointers[1:] != sorted_pointers[:-1]))
    lengths = np.diff(np.append(starts, len(order)))
    addresses = sorted_pointers[starts]
    now = memory.load(addresses, None, None, dtype)
    old = np.empty(len(order), dtype)
    if isinstance(step, np.ufunc) and len(starts) < lengths.max():
        for place, start in enumerate(starts):
            run = sorted_values[start : start + lengths[place]]
            steps = step.accumulate(np.append(now[place], run).astype(dtype))
            old[start : start + lengths[place]], now[place] = steps[:-1], steps[-1]
    else:
        for turn in range(lengths.max()):
            here = np.flatnonzero(lengths > turn)
            old[starts[here] + turn] = now[here]
            now[here] = step(now[here], sorted_values[starts[here] + turn])
    memory.store(addresses, now, None, dtype)
    answer = np.empty_like(old)
    answer[order] = old
    return answer
